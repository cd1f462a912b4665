// What the bundler makes of files that are not scripts: a picture is its address, a style sheet goes into the page's.

declare module "*.svg" {
  const address: string;
  export default address;
}

declare module "*.css";
