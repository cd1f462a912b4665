package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"redrain/client"
	"redrain/internal/auth"
	"redrain/rain"
)

type tokenCmd struct {
	User        string            `need:"" help:"The player's id. Required."`
	Name        string            `placeholder:"NAME" help:"Name under which the player is shown to others, if the server shows names."`
	Picture     string            `placeholder:"URL" help:"Picture of the player, https, from a host that the server allows."`
	Payee       map[string]string `placeholder:"PROVIDER=ACCOUNT" help:"Account that the player's withdrawals go to: wechat=APPID:OPENID or alipay=ID."`
	TTL         time.Duration     `name:"ttl" default:"24h" least:"1ms" help:"Life of the token."`
	JWTSecret   string            `secret:"" name:"jwt-secret" placeholder:"SECRET" help:"The server's secret. Required, except for --link with an operator's --token."`
	JWTAudience string            `name:"jwt-audience" placeholder:"AUD" help:"The token's aud, if the server requires one."`
	JWTIssuer   string            `name:"jwt-issuer" placeholder:"ISS" help:"The token's iss, if the server requires one."`
	Link        bool              `help:"Print a link to the player's page of --server instead, which signs in as the player: once, within two minutes."`
	Campaign    string            `placeholder:"ID" help:"The campaign of the link of --link."`

	remote
}

func (c *tokenCmd) check() (faults faultList) {
	err := rain.CheckPlayer(c.User)
	faults.when(c.User != "" && err != nil, fmt.Sprint("--user: ", err))
	_, err = auth.ParseSecrets(c.JWTSecret)
	switch {
	case c.JWTSecret != "":
		faults.when(err != nil, fmt.Sprint("--jwt-secret: ", err))
	case !c.Link:
		faults = append(faults, "--jwt-secret: required, the same as the server's")
	case c.Token == "":
		faults = append(faults, "--link: give --jwt-secret, the same as the server's, or an operator's --token")
	}
	faults.when(c.Picture != "" && c.JWTSecret == "",
		"--picture: needs --jwt-secret; a server's link takes a name only")
	return faults
}

// Run prints a token, or a link.
func (c *tokenCmd) Run(app *App) error {
	if c.Link && c.JWTSecret == "" {
		return c.link(app, c.Token, client.LoginWish{
			User: c.User, Name: c.Name, Campaign: c.Campaign, TTLMS: c.TTL.Milliseconds(),
		})
	}
	players, err := auth.NewPlayers(auth.PlayersOptions{
		Secret: c.JWTSecret, Audience: c.JWTAudience, Issuer: c.JWTIssuer, Log: app.newLogger(logText, slog.LevelInfo),
	})
	if err != nil {
		return err
	}
	token, expires, err := players.Mint(auth.Persona{User: c.User, Name: c.Name, Picture: c.Picture, Payee: c.Payee},
		c.TTL)
	if err != nil {
		return err
	}
	if c.Link {
		return c.link(app, token, client.LoginWish{Campaign: c.Campaign})
	}
	if c.JSON {
		return printJSON(app, map[string]any{"user": c.User, "token": token, "expires_at": expires.UnixMilli()})
	}
	_, err = fmt.Fprintln(app.Stdout, token)
	return err
}

// link requests a code from the server, with the player's own token or an operator's, and prints its link.
func (c *tokenCmd) link(app *App, token string, wish client.LoginWish) error {
	to := c.remote
	to.Token = token
	return to.talk(func(ctx context.Context, api *client.Client) error {
		code, err := api.LoginCode(ctx, wish)
		if _, answered := errors.AsType[*client.Error](err); err != nil && !answered {
			return fmt.Errorf("%w (a link is made by a running server: give its address with --server, "+
				"or leave out --link for a token)", err)
		}
		if err != nil {
			return err
		}
		server, err := url.Parse(c.Server)
		if err != nil {
			return err
		}
		server.User = nil // without a password
		link := strings.TrimRight(server.String(), "/") + code.Link
		if c.JSON {
			return printJSON(app, map[string]any{"user": c.User, "code": code.Code, "expires_at": code.ExpiresAt,
				"link": link})
		}
		_, err = fmt.Fprintln(app.Stdout, link)
		return err
	})
}

type operatorTokenCmd struct {
	Name string `required:"true" placeholder:"NAME" help:"The operator's name. The audit log has it."`
	Role string `required:"true" placeholder:"ROLE" help:"Their role: viewer, operator, cashier or admin; several with commas."`
	JSON bool   `name:"json" help:"As JSON."`
}

func (c *operatorTokenCmd) check() (faults faultList) {
	err := auth.CheckOperatorName(c.Name)
	faults.when(err != nil, fmt.Sprint("--", err))
	_, err = auth.ParseRoles(c.Role)
	faults.when(err != nil, fmt.Sprint("--role: ", err))
	return faults
}

// Run creates a token, and prints it with the line for the operators' file. The token itself is not stored.
func (c *operatorTokenCmd) Run(app *App) error {
	token, hash := auth.NewOperatorToken()
	if c.JSON {
		return printJSON(app, map[string]any{"token": token, "name": c.Name, "role": c.Role, "sha256": hash})
	}
	_, err := fmt.Fprintf(app.Stdout, "%s, once and for all:\n\n  %s\n\nFor the file of --operators-file:\n\n"+
		"- {name: %q, role: %q, sha256: %s}\n", c.Name, token, c.Name, c.Role, hash)
	return err
}
