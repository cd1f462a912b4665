// Package web serves the pages of redrain: the player's page, the big screen of an event, the operator's console and
// the description of both APIs. It also serves the client library for pages of others. No page loads anything from
// another host, and no page needs Node.js to be built.
//
//	sdk/             the client library: the socket, the clock, one answer for each tap
//	src/shared/      what several pages use: API calls and their types (schemas.ts is generated), languages, money
//	src/rain/        the rain on a canvas: where things are, how they look, what taps become
//	src/<page>/      one folder for each page, started by its main (docs has a style sheet only)
//	pages/           the HTML, one file for each page
//	img/             pictures
//	third_party/     libraries of others, with their licences
//	bundle/, build/  make dist/ of all that: go generate . at the root of the module
//	dist/            what is embedded in the program
//
// The package knows neither campaigns nor players: the pages talk to the server as any client would.
package web

//go:generate make -C .. schemas
