// Package web holds the pages that redrain serves itself: the player's page, the big screen of an event, the
// operator's console and the description of both APIs. They are plain ES modules and style sheets, embedded in the
// binary, with no build step; no page asks anything of another host.
//
//	pages/             the HTML, one file for each page
//	assets/js/lib/     what every page uses: API, socket client, clock, languages
//	assets/js/rain/    the rain on a canvas: where things are, how they look, what taps become
//	assets/js/<page>/  one folder for each page, started by its main.js
//
// The package knows neither campaigns nor players: the pages talk to the server as any client would.
package web
