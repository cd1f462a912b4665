package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"redrain/server/config"
)

// settings finds and parses the texts of all settings: on the command line, in the environment, then in the file. If it
// cannot parse a text, it records the fault and uses the default. So parsing goes on, and no second fault follows from
// the first.
type settings struct {
	env    func(string) (string, bool)
	opened bool
	file   map[string]fileSetting // by key
	from   map[string]string      // source of a flag's value; none for the command line
	faults []string
}

// Apply registers the sources, and the parser for all kinds of values in the grammar.
func (s *settings) Apply(k *kong.Kong) error {
	options := []kong.Option{
		kong.Resolvers(s), kong.WithBeforeResolve(s.open),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), s),
		kong.TypeMapper(reflect.TypeFor[time.Time](), s),
		kong.TypeMapper(reflect.TypeFor[slog.Level](), s),
	}
	for _, kind := range []reflect.Kind{reflect.String, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool,
		reflect.Slice} {
		options = append(options, kong.KindMapper(kind, s))
	}
	for _, o := range options {
		if err := o.Apply(k); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads the next value into target.
func (s *settings) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	next := ctx.Scan.Peek()
	if target.Kind() == reflect.Bool && next.Type != kong.FlagValueToken {
		target.SetBool(true) // --demo
		return nil
	}
	if !next.IsValue() && !negative(next) {
		return s.refuse(ctx.Value, target, errors.New("needs a value"))
	}
	var err error
	if ctx.Value.Flag == nil && target.Kind() == reflect.Slice { // list add LIST u1 u2: a comma is part of its word
		for err == nil && ctx.Scan.Peek().IsValue() {
			err = appendText(target, fmt.Sprint(ctx.Scan.Pop().Value))
		}
	} else {
		err = setText(target, fmt.Sprint(ctx.Scan.Pop().Value))
	}
	if err != nil {
		return s.refuse(ctx.Value, target, err)
	}
	if config.IsSecret(ctx.Value) { // a newline at the end of a variable is not a part of it
		target.SetString(strings.TrimSpace(target.String()))
	}
	return nil
}

// readSecrets reads the secrets that are in files, and removes the flags for files from a command. It returns the files
// by the secrets' flags.
func (s *settings) readSecrets(command *kong.Node) map[string]string {
	var flags []*kong.Flag
	var files map[string]string // nil if there are none, as in the default configuration
	for i, f := range command.Flags {
		if i == 0 || !config.IsSecret(command.Flags[i-1].Value) { // AddSecretFiles puts the file behind the secret
			flags = append(flags, f)
			continue
		}
		secret, path := command.Flags[i-1], f.Target.String()
		if path == "" {
			continue
		}
		text, err := config.ReadSecret(path)
		switch {
		case secret.Target.String() != "":
			s.faults = append(s.faults, fmt.Sprintf("--%s and --%s: give one of them", secret.Name, f.Name))
		case err != nil:
			s.faults = append(s.faults, fmt.Sprintf("--%s %s: %v", f.Name, path, err))
		default:
			secret.Target.SetString(text)
			if files == nil {
				files = map[string]string{}
			}
			files[secret.Name] = path
		}
	}
	command.Flags = flags
	return files
}

// negative reports whether a token that looks like a flag is a negative number, as in "--min -5".
func negative(t kong.Token) bool {
	text, ok := t.Value.(string)
	return ok && t.Type == kong.UntypedToken && len(text) > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9'
}

// refuse records a fault and uses the default.
func (s *settings) refuse(v *kong.Value, target reflect.Value, err error) error {
	fault := "<" + v.Name + "> " + err.Error()
	if v.Flag != nil {
		fault = "--" + v.Name + ": " + err.Error()
		if from := s.from[v.Name]; from != "" {
			fault += " (from " + from + ")"
		}
	}
	s.faults = append(s.faults, fault)
	if !v.HasDefault {
		return nil
	}
	return setText(target, v.Default)
}

// setText parses a text into target, by target's type. Each repetition of a flag adds to its list.
func setText(target reflect.Value, text string) (err error) {
	var want string
	switch p := target.Addr().Interface().(type) {
	case *time.Duration:
		want = "a duration such as 30s or 1h30m"
		*p, err = time.ParseDuration(text)
	case *time.Time:
		want = "a time such as 2026-02-17T20:00:00+08:00, or Unix milliseconds"
		*p, err = parseTime(text)
	case *slog.Level:
		want = "one of debug, info, warn, error"
		if err = p.UnmarshalText([]byte(text)); strings.ContainsAny(text, "+-") { // info+2
			err = strconv.ErrSyntax
		}
	case *bool:
		want = "true or false"
		*p = slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(text))
		if !*p && !slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(text)) {
			err = strconv.ErrSyntax
		}
	default:
		want, err = setKind(target, text)
	}
	if err != nil && want != "" {
		return fmt.Errorf("%q is not %s", text, want)
	}
	return err
}

// setKind is setText for types without a syntax of their own. want describes a valid text; it is empty for a list.
func setKind(target reflect.Value, text string) (want string, err error) {
	switch target.Kind() {
	case reflect.String:
		target.SetString(text)
	case reflect.Int, reflect.Int64:
		want = "a whole number"
		n, err := strconv.ParseInt(text, 10, target.Type().Bits())
		if errors.Is(err, strconv.ErrRange) {
			want += " that fits"
		}
		target.SetInt(n)
		return want, err
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			err = strconv.ErrRange
		}
		target.SetFloat(f)
		return "a number", err
	default: // a slice; the grammar has no other kinds
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if err := appendText(target, part); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// appendText parses a text as one more element of a slice.
func appendText(target reflect.Value, text string) error {
	element := reflect.New(target.Type().Elem()).Elem()
	err := setText(element, text)
	if err == nil {
		target.Set(reflect.Append(target, element))
	}
	return err
}

func parseTime(text string) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return time.Parse(time.RFC3339, text)
}

// configFlag is the only flag that is not a key of the file: the name of the file.
const configFlag = "config"

// onlyTyped reports whether a flag has its value from the command line only, by the tag typed:"". The server has
// another setting of the same name, which may be in the environment or the file.
func onlyTyped(v *kong.Value) bool { return v.Tag != nil && v.Tag.Has("typed") }

// getenv returns the value of a flag's variable. Deployment tools pass unset values as empty variables.
func (s *settings) getenv(flag string) (string, bool) {
	value, ok := s.env(config.EnvName(flag))
	return value, ok && value != ""
}

// open reads the file that --config or its variable names. kong calls it after the flags, once for each flag.
func (s *settings) open(ctx *kong.Context) error {
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
	if name != "" {
		s.readFile(name, flagNames(ctx.Model))
	}
	return nil
}

// Validate implements kong.Resolver; open has validated everything.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: it returns the text of a flag that is not on the command line, or nil.
func (s *settings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" || onlyTyped(flag.Value) {
		return nil, nil
	}
	if value, ok := s.getenv(flag.Name); ok {
		s.from[flag.Name] = config.EnvName(flag.Name)
		return value, nil
	}
	if setting, ok := s.file[flag.Name]; ok {
		s.from[flag.Name] = setting.where
		return setting.text, nil
	}
	return nil, nil
}

// flagNames returns the flags of all commands: one file may hold the settings of several.
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

// fileSetting has a scalar's text, or the elements of a list with commas between them, and its file and line.
type fileSetting struct{ text, where string }

// readFile reads a flat YAML mapping from known flag names to values. Values are kept as text, so that a text means the
// same in the file and on the command line.
func (s *settings) readFile(name string, known []string) {
	fault := func(format string, args ...any) { s.faults = append(s.faults, fmt.Sprintf(format, args...)) }
	data, err := os.ReadFile(name) //nolint:gosec // the operator's own choice
	if err != nil {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err // without the name, which is in the message already
		}
		fault("--config %s: %v", name, err)
		return
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := d.Decode(&document); err != nil {
		if !errors.Is(err, io.EOF) { // an empty file
			fault("%s: %v", name, err)
		}
		return
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		fault("%s: only one YAML document is read", name)
		return
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode && root.Tag != "!!null" { // null: nothing but comments
		fault("%s: the file is not a list of settings, one \"name: value\" on each line", name)
	}
	s.file = map[string]fileSetting{}
	for i := 0; i+1 < len(root.Content) && root.Kind == yaml.MappingNode; i += 2 {
		key, where := root.Content[i].Value, fmt.Sprintf("%s line %d", name, root.Content[i].Line)
		text, err := nodeText(root.Content[i+1])
		_, twice := s.file[key]
		switch {
		case twice:
			fault("%s: %q is there twice", where, key)
		case !slices.Contains(known, key):
			fault("%s: there is no setting %q", where, key)
		case err != nil:
			fault("%s: %q %v", where, key, err)
		default:
			s.file[key] = fileSetting{text, where}
		}
	}
}

func nodeText(n *yaml.Node) (string, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return nodeText(n.Alias)
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "", errors.New("has no value")
		}
		return n.Value, nil
	case yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, element := range n.Content {
			if element.Kind != yaml.ScalarNode {
				return "", errors.New("holds more than plain values")
			}
			parts[i] = element.Value
		}
		return strings.Join(parts, ","), nil
	default:
		return "", errors.New("holds more than a plain value")
	}
}
