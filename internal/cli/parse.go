package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"redrain/server/config"
)

// parse reads a command line and all settings. It returns the command to carry out, or every fault, or neither where it
// has printed help.
//
// kong stops at the first unknown argument, so parsing is repeated without that argument to find further faults.
func (a *App) parse(args []string) (command, []string) {
	var faults []string
	skipped := -1 // the index of the last unknown flag
	for {
		p, err := a.attempt(args)
		if p.helped {
			return nil, nil
		}
		text, unknown := "", false
		if err != nil {
			text = err.Error()
			unknown = strings.HasPrefix(text, "unknown flag ") || strings.HasPrefix(text, "unexpected argument ")
		}
		if !unknown {
			return a.finish(p, faults, text)
		}
		at := offender(args, text)
		if at < 0 {
			return nil, append(faults, text)
		}
		switch {
		case strings.HasPrefix(text, "unknown flag "):
			faults = append(faults, text)
			skipped = at
		case at == skipped: // probably the value of that flag
			skipped = -1
		case at == 0: // what follows it belongs to the unknown command
			return nil, append(faults, fmt.Sprintf("there is no command %q; see redrain --help", args[0]))
		default:
			faults = append(faults, text)
		}
		args = slices.Delete(slices.Clone(args), at, at+1)
	}
}

// offender finds the argument that kong's message names, the word after "unknown flag" or "unexpected argument".
func offender(args []string, text string) int {
	word := strings.TrimPrefix(strings.TrimPrefix(text, "unknown flag "), "unexpected argument ")
	return slices.IndexFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return matches(word, arg) || (strings.HasPrefix(arg, "-") && matches(word, name)) ||
			(len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && matches(word, arg[:2])) // -xyz: kong names -x
	})
}

// matches tells whether the message's word is arg; kong's ", did you mean …" may follow it.
func matches(word, arg string) bool {
	return arg != "" && (word == arg || strings.HasPrefix(word, arg+", did you mean "))
}

// attempt is one pass over a command line. It has a grammar of its own, because kong writes into it.
type attempt struct {
	context *kong.Context
	decoder *decoder
	sources *sources
	helped  bool
}

func (a *App) attempt(args []string) (*attempt, error) {
	t := &attempt{sources: newSources(a.Env)}
	t.decoder = &decoder{origin: t.sources.origin}
	parser := a.newParser(kong.Exit(func(int) { t.helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}), kong.ValueFormatter(helpText),
		kong.ExplicitGroups(groups), t.decoder, kong.Resolvers(t.sources), kong.WithBeforeResolve(t.sources.open))
	var err error
	t.context, err = parser.Parse(args)
	return t, err
}

func (a *App) newParser(options ...kong.Option) *kong.Kong {
	parser, err := kong.New(&grammar{}, append(options, kong.Name("redrain"), kong.Description(description),
		kong.PostBuild(fillIn), kong.Writers(a.Stdout, a.Stderr))...)
	if err != nil {
		panic("cli: the grammar is wrong: " + err.Error()) // a mistake of ours that every test would meet
	}
	return parser
}

// finish adds the faults of the settings to those of the arguments.
func (a *App) finish(t *attempt, faults []string, parseFault string) (command, []string) {
	faults = append(faults, t.sources.faults...)
	faults = append(faults, t.decoder.faults...)
	if parseFault != "" {
		return nil, append(faults, parseFault)
	}
	selected, ok := reflect.TypeAssert[command](t.context.Selected().Target.Addr())
	if !ok {
		return nil, append(faults, fmt.Sprintf("%s is not a command", t.context.Command()))
	}
	a.verb = t.context.Selected().Name
	if faults = append(faults, selected.check()...); len(faults) > 0 {
		return nil, faults
	}
	return selected, nil
}

// helpText adds the name of the environment variable to a flag's help. kong's own tag for this would read the variable
// from the process instead of App.Env.
func helpText(v *kong.Value) string {
	if v.Flag == nil || v.Name == "help" || onlyTyped(v) {
		return v.Help
	}
	return strings.TrimSuffix(config.Help(v), ".") + " (" + config.EnvName(v.Name) + ")."
}
