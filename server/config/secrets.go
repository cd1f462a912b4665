package config

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// IsSecret reports whether a flag's value is a secret.
func IsSecret(v *kong.Value) bool { return v.Tag != nil && v.Tag.Has("secret") }

// FileFlag is the flag that names the file with the secret of another flag.
func FileFlag(flag string) string { return flag + "-file" }

// AddSecretFiles adds to each flag for a secret the flag for its file. It is for kong.PostBuild.
func AddSecretFiles(k *kong.Kong) error {
	return kong.Visit(k.Model, func(of kong.Visitable, next kong.Next) error {
		switch of := of.(type) {
		case *kong.Application:
			of.Flags = withSecretFiles(of.Flags)
		case *kong.Node:
			of.Flags = withSecretFiles(of.Flags)
		}
		return next(nil)
	})
}

func withSecretFiles(flags []*kong.Flag) (all []*kong.Flag) {
	for _, f := range flags {
		all = append(all, f)
		if !IsSecret(f.Value) {
			continue
		}
		help := "File with --" + f.Name + ", instead of the value itself."
		switch f.Tag.Get("secret") {
		case "live":
			help += " It is read again when it changes."
		case "login":
			help += " New connections use the user and password that it has then; the address stays that of the start."
		}
		file := &kong.Flag{Group: f.Group, PlaceHolder: "FILE", Value: &kong.Value{
			Name: FileFlag(f.Name), Help: help, OrigHelp: help, Mapper: f.Mapper, Tag: &kong.Tag{},
			Target: reflect.ValueOf(new("")).Elem(), DefaultValue: reflect.ValueOf(""),
		}}
		file.Flag = file
		all = append(all, file)
	}
	return all
}

// ReadSecret returns the secret in a file, without white space at its ends. The error does not repeat the path.
func ReadSecret(path string) (string, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the operator chooses the path
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	text := strings.TrimSpace(string(data))
	if err == nil && text == "" {
		err = errors.New("the file is empty")
	}
	return text, err
}

// Reread returns the secret that the file of a flag has now. It returns an error if the flag may not have this value.
func (c Config) Reread(flag string) (string, error) {
	text, err := ReadSecret(c.SecretFiles[flag])
	if err != nil {
		return "", err
	}
	for _, f := range c.flags() {
		if f.Name == flag {
			f.Target.SetString(text)
		}
	}
	return text, errors.Join(c.Validate()...)
}
