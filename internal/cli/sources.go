package cli

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"redrain/server/config"
)

// configFlag is the only flag that is not a key of the file: the name of the file.
const configFlag = "config"

// sources give the settings that the command line does not: from the environment, then from the file.
type sources struct {
	env    func(string) (string, bool)
	opened bool
	file   *file             // nil without one
	from   map[string]string // flag → where its value was found
	faults []string
}

func newSources(env func(string) (string, bool)) *sources {
	return &sources{env: env, from: make(map[string]string)}
}

// onlyTyped is whether a flag is given on the command line or not at all: its tag is typed:"". The server has a setting
// of its name that is something else, and what one machine's environment or file says of that is not meant for it.
func onlyTyped(v *kong.Value) bool { return v.Tag != nil && v.Tag.Has("typed") }

func (s *sources) origin(flag string) string { return s.from[flag] }

// getenv is the value of a flag's variable. An empty variable counts as not set, because deployment tools pass on unset
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
	for _, key := range f.keys {
		if !slices.Contains(known, key) {
			s.faults = append(s.faults, fmt.Sprintf("%s: there is no setting %q", f.where(key), key))
		}
	}
	return nil
}

// Validate implements kong.Resolver; newSources and open have validated everything.
func (s *sources) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver: the text of a flag that the command line does not give, or nil.
func (s *sources) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if flag.Name == "help" || onlyTyped(flag.Value) {
		return nil, nil
	}
	if value, ok := s.getenv(flag.Name); ok {
		s.from[flag.Name] = config.EnvName(flag.Name)
		return value, nil
	}
	if s.file != nil && flag.Name != configFlag {
		if v, ok := s.file.values[flag.Name]; ok {
			s.from[flag.Name] = s.file.where(flag.Name)
			return v.text, nil
		}
	}
	return nil, nil
}

// flagNames are the flags of all commands that can be keys of the file, because one file may hold the settings of
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
