package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/websocket"

	"redrain/internal/wire"
	"redrain/rain"
)

// crowd are players who tap, so that the pictures show a busy room.
type crowd struct {
	stop  context.CancelFunc
	conns []*websocket.Conn
	work  sync.WaitGroup
}

var families = []rune("王李张刘陈杨赵黄周吴徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹")

// gather lets players join a campaign.
func gather(ctx context.Context, home, campaign string, count int) (*crowd, error) {
	playing, stop := context.WithCancel(ctx)
	c := &crowd{stop: stop}
	for i := range count {
		if err := c.admit(playing, home, campaign, i); err != nil {
			return nil, errors.Join(err, c.disperse())
		}
	}
	return c, nil
}

func (c *crowd) admit(ctx context.Context, home, campaign string, i int) error {
	token, err := tokenOf(fmt.Sprintf("%c-%d", families[i%len(families)], i))
	if err != nil {
		return err
	}
	d := websocket.Dialer{Subprotocols: []string{wire.Subprotocol}, HandshakeTimeout: 10 * time.Second}
	conn, resp, err := d.DialContext(ctx, "ws"+strings.TrimPrefix(home, "http")+"/ws", nil)
	if err != nil {
		return fmt.Errorf("player %d: %w", i, err)
	}
	_ = resp.Body.Close()
	c.conns = append(c.conns, conn)
	if err := conn.WriteJSON(wire.Request{Type: wire.TypeHello, ID: "1", Token: token,
		Campaign: campaign}); err != nil {
		return fmt.Errorf("player %d: %w", i, err)
	}
	c.work.Go(func() { play(ctx, conn, i) })
	return nil
}

func tokenOf(user string) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": user,
		"exp": time.Now().Add(time.Hour).Unix()}).SignedString([]byte(jwtSecret))
}

// play taps one packet of every other wave, a while after it has appeared, as long as the connection is there.
func play(ctx context.Context, conn *websocket.Conn, i int) {
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			return
		}
		for line := range bytes.SplitSeq(data, []byte("\n")) {
			var w wire.Wave
			if json.Unmarshal(line, &w) != nil || w.Type != wire.TypeWave || (int(w.N)+i)%9 != 0 {
				continue
			}
			// Each player has a different delay, so that the curves are smooth.
			if pause(ctx, time.Duration(600+i*137%900)*time.Millisecond) != nil {
				return
			}
			for _, d := range w.Drops {
				if d[2] == int(rain.Packet) {
					tap := wire.Request{Type: wire.TypeTap, ID: wire.ID(fmt.Sprint(w.N)),
						Drop: fmt.Sprintf("%d.%d", w.N, d[0])}
					_ = conn.WriteJSON(tap) // a broken connection ends the reading loop
					break
				}
			}
		}
	}
}

// disperse ends all connections and waits for the players.
func (c *crowd) disperse() error {
	c.stop()
	var errs []error
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	c.work.Wait()
	return errors.Join(errs...)
}
