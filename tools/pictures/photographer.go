package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"redrain/client"
	"redrain/internal/testkit/browser"
	"redrain/rain"
)

const (
	most    = 300_000 // bytes of a picture
	quality = 82      // of WebP, of 100
	players = 60
	curves  = 25 * time.Second // of rain, until the console's charts have something to show

	lastMinute = `//button[normalize-space()="1 min"]`
)

// photographer opens the pages of a server and takes the pictures.
type photographer struct {
	b    *browser.Browser
	home string
	dir  string
}

// rainOf is the rain that is pictured: long enough that the console has curves.
func rainOf() rain.RainSpec {
	soon := int64(4_000)
	spec := rain.DefaultRain()
	spec.StartsInMS, spec.DurationMS, spec.DropsPerSecond, spec.FallMS, spec.DecoyPercent = &soon, 40_000, 7, 5_000, 12
	return spec
}

func (p *photographer) work(ctx context.Context) (err error) {
	api, err := client.New(client.Options{Server: p.home, Token: operatorToken})
	if err != nil {
		return err
	}
	defer api.Close()
	campaign, err := prepare(ctx, api)
	if err != nil {
		return err
	}
	console, err := p.open("/console#token="+operatorToken, browser.Device{Width: 1280, Height: 800, Scale: 1.5},
		"en-US,en")
	if err != nil {
		return err
	}
	defer console.Close()
	if err := console.Go("/console#/campaigns/" + campaign.ID); err != nil {
		return err
	}
	disperse, err := gather(ctx, p.home, campaign.ID, players)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, disperse()) }()
	if _, err := api.StartRain(ctx, campaign.ID, rainOf(), ""); err != nil {
		return err
	}
	wall, err := p.open("/screen?campaign="+campaign.ID+"&join=https://rain.example.com/",
		browser.Device{Width: 1920, Height: 1080, Scale: 1}, "zh-CN,zh")
	if err != nil {
		return err
	}
	defer wall.Close()
	token, err := tokenOf("林小雨")
	if err != nil {
		return err
	}
	player, err := client.New(client.Options{Server: p.home, Token: token})
	if err != nil {
		return err
	}
	defer player.Close()
	code, err := player.LoginCode(ctx, client.LoginWish{})
	if err != nil {
		return err
	}
	phone, err := p.open("/?debug&campaign="+campaign.ID+"#code="+code.Code,
		browser.Device{Width: 390, Height: 844, Scale: 2, Touch: true}, "zh-CN,zh")
	if err != nil {
		return err
	}
	defer phone.Close() // where something fails before the Close below
	// After a touch, the browser draws no focus ring around what gets the focus by itself.
	if err := phone.Touch(browser.Point{X: 195, Y: 300}); err != nil {
		return err
	}
	if _, err := browser.Eval[bool](phone, `(document.getElementById("debug").remove(), true)`); err != nil {
		return err
	}
	if err := p.win(ctx, phone, 3); err != nil {
		return err
	}
	if err := p.take(phone, "play"); err != nil {
		return err
	}
	phone.Close() // its drawing would make the others stutter
	if err := errors.Join(console.Press(lastMinute, 1), pause(ctx, curves), p.take(console, "console")); err != nil {
		return err
	}
	return p.take(wall, "screen")
}

// prepare funds and makes the campaign.
func prepare(ctx context.Context, api *client.Client) (client.Campaign, error) {
	const budget = 1_000_000
	if _, err := api.Deposit(ctx, "acme", "for the pictures", 5*budget); err != nil {
		return client.Campaign{}, err
	}
	spec := rain.DefaultSpec()
	spec.Name, spec.Sponsor, spec.Budget, spec.Packets, spec.WinsPerUser, spec.Split = "2027 年会红包雨", "acme", budget,
		2_000, 50, rain.Gaussian
	return api.CreateCampaign(ctx, spec, "")
}

func (p *photographer) open(address string, d browser.Device, language string) (*browser.Page, error) {
	page, err := p.b.Open(browser.Options{Home: p.home, Device: d, Language: language})
	if err != nil {
		return nil, err
	}
	if err := page.Go(address); err != nil {
		page.Close()
		return nil, err
	}
	return page, nil
}

// win taps packets on a page until so many of them have won, and the last of them can still be seen.
func (p *photographer) win(ctx context.Context, page *browser.Page, wins int) error {
	// The lowest packet that is well in sight. The others keep the picture full.
	const next = `(() => { const r = globalThis.redrain; if (!r) return null;
		const well = (d) => !d.decoy && d.y > innerHeight * 0.25 && d.y < innerHeight * 0.8;
		const lowest = r.drops(r.serverNow()).filter(well).sort((a, b) => b.y - a.y)[0];
		return lowest ? { x: lowest.x, y: lowest.y } : null; })()`
	for {
		at, err := browser.Eval[*browser.Point](page, next)
		if err == nil && at != nil {
			err = page.Point(*at)
		}
		if err != nil {
			return err
		}
		count, err := browser.Eval[int](page, `Number(document.getElementById("mine-count").textContent) || 0`)
		if err != nil || count >= wins {
			return err
		}
		if err := pause(ctx, 400*time.Millisecond); err != nil {
			return err
		}
	}
}

func (p *photographer) take(page *browser.Page, name string) error {
	webp, err := page.WebP(quality)
	if err != nil {
		return fmt.Errorf("take %s: %w", name, err)
	}
	if len(webp) > most {
		return fmt.Errorf("%s has %d bytes, more than %d", name, len(webp), most)
	}
	file := filepath.Join(p.dir, name+".webp")
	slog.Info("picture", "file", file, "bytes", len(webp))
	return os.WriteFile(file, webp, 0o600)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
