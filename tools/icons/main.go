// Command icons makes two kinds of pictures of the player's page. web/img/icon-*.png stand on a home screen, and are
// made of icon.svg. web/img/share.jpg stands beside a link in a chat. A browser draws them, so the command needs one.
//
//	go run -C tools ./icons && go generate .
//
// The drawings have no text: they say the same in every language, and need no font.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"

	"redrain/internal/testkit/browser"
)

const (
	mostIcon  = 10_000 // bytes
	mostShare = 60_000 // bytes: chats load it beside every link
	quality   = 64     // of JPEG, of 100
)

// sizes of icons for Android (192 and 512) and iOS (180), in pixels.
var sizes = []int64{180, 192, 512}

//go:embed share.html
var share []byte

func main() {
	if err := run(filepath.Join("..", "web", "img")); err != nil {
		slog.Error("no icons", "err", err)
		os.Exit(1)
	}
}

func run(dir string) (err error) {
	path, err := browser.Find()
	if err != nil {
		return err
	}
	profile, err := os.MkdirTemp("", "redrain-icons-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(profile)) }()
	b, err := browser.Start(path, profile)
	if err != nil {
		return err
	}
	defer b.Close()
	files := http.NewServeMux()
	files.Handle("/", http.FileServer(http.Dir(dir)))
	files.HandleFunc("/share", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(share) })
	s := httptest.NewServer(files)
	defer s.Close()
	for _, size := range sizes {
		picture, err := draw(b, s.URL, "/icon.svg", size, size)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		encoder := png.Encoder{CompressionLevel: png.BestCompression}
		if err := encoder.Encode(&out, fewColours(picture)); err != nil {
			return err
		}
		if err := keep(dir, fmt.Sprintf("icon-%d.png", size), out.Bytes(), mostIcon); err != nil {
			return err
		}
	}
	picture, err := draw(b, s.URL, "/share", 1200, 630)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, picture, &jpeg.Options{Quality: quality}); err != nil {
		return err
	}
	return keep(dir, "share.jpg", out.Bytes(), mostShare)
}

func draw(b *browser.Browser, home, path string, width, height int64) (image.Image, error) {
	page, err := b.Open(browser.Options{Home: home, Device: browser.Device{Width: width, Height: height, Scale: 1}})
	if err != nil {
		return nil, err
	}
	defer page.Close()
	if err := page.Go(path); err != nil {
		return nil, err
	}
	shot, err := page.Screenshot()
	if err != nil {
		return nil, err
	}
	return png.Decode(bytes.NewReader(shot))
}

func keep(dir, name string, data []byte, most int) error {
	if len(data) > most {
		return fmt.Errorf("%s is %d bytes, and may have %d: draw it more simply", name, len(data), most)
	}
	slog.Info("made", "file", name, "bytes", len(data))
	return os.WriteFile(filepath.Join(dir, name), data, 0o644) //nolint:gosec // sources, for all to read
}

// fewColours keeps the 255 colours that a drawing has most of, which is most of a flat one: its file is a third.
func fewColours(from image.Image) *image.Paletted {
	count := map[color.Color]int{}
	bounds := from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[color.RGBAModel.Convert(from.At(x, y))]++
		}
	}
	palette := make(color.Palette, 0, len(count))
	for c := range count {
		palette = append(palette, c)
	}
	slices.SortFunc(palette, func(a, b color.Color) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return bytes.Compare(rgb(a), rgb(b))
	})
	to := image.NewPaletted(bounds, palette[:min(len(palette), 255)])
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			to.Set(x, y, from.At(x, y))
		}
	}
	return to
}

func rgb(c color.Color) []byte {
	is, _ := color.RGBAModel.Convert(c).(color.RGBA)
	return []byte{is.R, is.G, is.B}
}
