package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"redrain/server/config"
)

// decoder parses the text of a setting. If it cannot parse a text, it records the fault and uses the default. So
// parsing goes on, and no second fault follows from the first.
type decoder struct {
	from   map[string]string // source of a flag's value; none for the command line
	faults []string
}

// Apply registers the decoder for all kinds of values in the grammar.
func (d *decoder) Apply(k *kong.Kong) error {
	options := []kong.Option{
		kong.TypeMapper(reflect.TypeFor[time.Duration](), d),
		kong.TypeMapper(reflect.TypeFor[time.Time](), d),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), d),
	}
	for _, kind := range []reflect.Kind{reflect.String, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool,
		reflect.Slice} {
		options = append(options, kong.KindMapper(kind, d))
	}
	for _, o := range options {
		if err := o.Apply(k); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads the next value into target.
func (d *decoder) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	next := ctx.Scan.Peek()
	if target.Kind() == reflect.Bool && next.Type != kong.FlagValueToken {
		target.SetBool(true) // --demo
		return nil
	}
	if !next.IsValue() && !negative(next) {
		return d.refuse(ctx.Value, target, "needs a value")
	}
	if ctx.Value.Flag == nil && target.Kind() == reflect.Slice {
		return d.decodeWords(ctx, target)
	}
	if err := setText(target, fmt.Sprint(ctx.Scan.Pop().Value)); err != nil {
		return d.refuse(ctx.Value, target, err.Error())
	}
	return nil
}

// decodeWords reads the remaining words of a command: list add LIST u1 u2. A comma is part of its word.
func (d *decoder) decodeWords(ctx *kong.DecodeContext, target reflect.Value) error {
	for ctx.Scan.Peek().IsValue() {
		element := reflect.New(target.Type().Elem()).Elem()
		if err := setText(element, fmt.Sprint(ctx.Scan.Pop().Value)); err != nil {
			return d.refuse(ctx.Value, target, err.Error())
		}
		target.Set(reflect.Append(target, element))
	}
	return nil
}

// negative reports whether a token that looks like a flag is a negative number, so that the message for "--min -5" is
// about -5.
func negative(t kong.Token) bool {
	text, ok := t.Value.(string)
	return ok && t.Type == kong.UntypedToken && len(text) > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9'
}

// refuse records a fault and uses the default.
func (d *decoder) refuse(v *kong.Value, target reflect.Value, text string) error {
	fault := "<" + v.Name + "> " + text
	if v.Flag != nil {
		fault = "--" + v.Name + ": " + text
	}
	if from := d.from[v.Name]; from != "" && v.Flag != nil {
		fault += " (from " + from + ")"
	}
	d.faults = append(d.faults, fault)
	if !v.HasDefault {
		return nil
	}
	return setText(target, v.Default)
}

// setText parses a text into target, by target's type.
func setText(target reflect.Value, text string) error {
	switch p := target.Addr().Interface().(type) {
	case *time.Duration:
		return into(p, text, time.ParseDuration, "is not a duration such as 30s or 1h30m")
	case *time.Time:
		return into(p, text, parseTime, "is not a time such as 2026-02-17T20:00:00+08:00, or Unix milliseconds")
	case *slog.Level:
		return into(p, text, parseLevel, "is not one of debug, info, warn, error")
	case *bool:
		return into(p, text, parseBool, "is not true or false")
	case *string:
		*p = text
		return nil
	}
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
		return nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, target.Type().Bits())
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("%q is not a whole number that fits", text)
		}
		if err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		target.SetInt(n)
		return nil
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%q is not a number", text)
		}
		target.SetFloat(f)
		return nil
	case reflect.Slice:
		return setList(target, text)
	default:
		return fmt.Errorf("a value of type %s cannot be read", target.Type())
	}
}

func into[T any](p *T, text string, parse func(string) (T, error), fault string) error {
	v, err := parse(text)
	if err != nil {
		return fmt.Errorf("%q %s", text, fault)
	}
	*p = v
	return nil
}

// setList parses a list with commas. Each repetition of a flag adds to its list.
func setList(target reflect.Value, text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		element := reflect.New(target.Type().Elem()).Elem()
		if err := setText(element, part); err != nil {
			return err
		}
		target.Set(reflect.Append(target, element))
	}
	return nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	default:
		return false, strconv.ErrSyntax
	}
}

func parseLevel(text string) (slog.Level, error) {
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		if strings.EqualFold(text, level.String()) {
			return level, nil
		}
	}
	return 0, strconv.ErrSyntax
}

func parseTime(text string) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Parse(time.RFC3339, text)
}

// configFlag is the only flag that is not a key of the file: the name of the file.
const configFlag = "config"

// sources resolve the settings missing on the command line: from the environment, then from the file.
type sources struct {
	env    func(string) (string, bool)
	opened bool
	file   *file             // nil without one
	from   map[string]string // by flag: the source of its value
	faults []string
}

func newSources(env func(string) (string, bool)) *sources {
	return &sources{env: env, from: make(map[string]string)}
}

// onlyTyped reports whether a flag has its value from the command line only, by the tag typed:"". The server has
// another setting of the same name, which may be in the environment or the file.
func onlyTyped(v *kong.Value) bool { return v.Tag != nil && v.Tag.Has("typed") }

// getenv returns the value of a flag's variable. An empty variable counts as unset, because deployment tools pass unset
// values that way.
func (s *sources) getenv(flag string) (string, bool) {
	value, ok := s.env(config.EnvName(flag))
	return value, ok && value != ""
}

// open reads the file that --config or its variable names. kong calls it after the flags and before the other sources,
// once for each flag.
func (s *sources) open(ctx *kong.Context) error {
	if s.opened {
		return nil
	}
	s.opened = true
	name, _ := s.getenv(configFlag)
	for _, path := range ctx.Path {
		if path.Flag != nil && path.Flag.Name == configFlag {
			name, _ = ctx.FlagValue(path.Flag).(string)
		}
	}
	if name == "" {
		return nil
	}
	f, faults := readFile(name)
	s.faults = append(s.faults, faults...)
	s.file = f
	known := flagNames(ctx.Model)
	for _, one := range f.settings {
		if !slices.Contains(known, one.key) {
			s.faults = append(s.faults, fmt.Sprintf("%s: there is no setting %q", f.where(one.line), one.key))
		}
	}
	return nil
}

// Validate implements kong.Resolver; newSources and open have validated everything.
func (s *sources) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: it returns the text of a flag that is not on the command line, or nil.
func (s *sources) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" || onlyTyped(flag.Value) {
		return nil, nil
	}
	if value, ok := s.getenv(flag.Name); ok {
		s.from[flag.Name] = config.EnvName(flag.Name)
		return value, nil
	}
	if s.file != nil && flag.Name != configFlag {
		if v := s.file.find(flag.Name); v != nil && v.ok {
			s.from[flag.Name] = s.file.where(v.line)
			return v.text, nil
		}
	}
	return nil, nil
}

// flagNames returns the flags of all commands that can be keys of the file, because one file may hold the settings of
// several commands.
func flagNames(app *kong.Application) []string {
	var names []string
	_ = kong.Visit(app, func(node kong.Visitable, next kong.Next) error { // the visitor has no error to return
		if f, ok := node.(*kong.Flag); ok && f.Name != "help" && f.Name != configFlag {
			names = append(names, f.Name)
		}
		return next(nil)
	})
	return names
}
