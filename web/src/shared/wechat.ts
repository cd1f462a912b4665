// WeChat's own browser.

/** inWeChat reports whether the page is open in WeChat. */
export const inWeChat = navigator.userAgent.includes("MicroMessenger");
