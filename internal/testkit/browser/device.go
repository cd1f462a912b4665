package browser

// Device is a phone, a computer or a wall display.
type Device struct {
	Name          string  // for the names of screenshots
	Width, Height int64   // of the page, in CSS pixels
	Scale         float64 // device pixels for a CSS pixel
	Touch         bool    // fingers instead of a mouse
}

// The devices that the pages are tested on.
var (
	// SmallPhone is the smallest that is still in use: an iPhone SE of 2016.
	SmallPhone = Device{Name: "small", Width: 320, Height: 568, Scale: 2, Touch: true}
	// Phone is the most common size, or a little smaller.
	Phone = Device{Name: "phone", Width: 390, Height: 844, Scale: 2, Touch: true}
	// LargePhone is one of the largest: an iPhone 15 Pro Max.
	LargePhone = Device{Name: "large", Width: 430, Height: 932, Scale: 3, Touch: true}
	// Landscape is Phone on its side.
	Landscape = Device{Name: "landscape", Width: 844, Height: 390, Scale: 2, Touch: true}
	// SmallLandscape is a small phone on its side, with the bars of a browser.
	SmallLandscape = Device{Name: "small-landscape", Width: 640, Height: 320, Scale: 2, Touch: true}
	// Desktop is a small laptop.
	Desktop = Device{Name: "desktop", Width: 1280, Height: 800, Scale: 1}
	// Wall is a projector.
	Wall = Device{Name: "wall", Width: 1920, Height: 1080, Scale: 1}
	// Column is a wall of LEDs that stands upright.
	Column = Device{Name: "column", Width: 1080, Height: 1920, Scale: 1}
)
