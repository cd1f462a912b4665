package cli

import (
	"fmt"
	"log/slog"
	"time"

	"redrain/internal/auth"
	"redrain/rain"
)

type tokenCmd struct {
	User        string        `help:"The player's id. Required."`
	Name        string        `help:"By which the player is shown to others, where the server does that."`
	Picture     string        `placeholder:"URL" help:"Picture of the player, https, from a host that the server allows."`
	TTL         time.Duration `name:"ttl" default:"24h" help:"How long the token is good."`
	JWTSecret   string        `name:"jwt-secret" placeholder:"SECRET" help:"The server's secret. Required."`
	JWTAudience string        `name:"jwt-audience" placeholder:"AUD" help:"The token's aud, where the server asks for one."`
	JWTIssuer   string        `name:"jwt-issuer" placeholder:"ISS" help:"The token's iss, where the server asks for one."`
	JSON        bool          `name:"json" help:"Say when it expires, too."`
}

func (c *tokenCmd) check() []string {
	var faults []string
	if err := rain.CheckUser(c.User); c.User == "" {
		faults = append(faults, "--user: required")
	} else if err != nil {
		faults = append(faults, "--user: "+err.Error())
	}
	if c.JWTSecret == "" {
		faults = append(faults, "--jwt-secret: required, the same as the server's")
	}
	if c.TTL <= 0 {
		faults = append(faults, "--ttl: give a duration above zero, for example 24h")
	}
	return faults
}

// Run prints a token.
func (c *tokenCmd) Run(app *App) error {
	players, err := auth.NewPlayers(auth.PlayersOptions{
		Secret: c.JWTSecret, Audience: c.JWTAudience, Issuer: c.JWTIssuer, Log: app.newLogger(logText, slog.LevelInfo),
	})
	if err != nil {
		return err
	}
	token, expires, err := players.MintFor(auth.Persona{User: c.User, Name: c.Name, Picture: c.Picture}, c.TTL)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(app, map[string]any{"user": c.User, "token": token, "expires_at": expires.UnixMilli()})
	}
	_, err = fmt.Fprintln(app.Stdout, token)
	return err
}
