package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// Groups are the headings of the settings, in the order of the help and the documentation.
var Groups = []kong.Group{
	{Key: "backends", Title: "Back ends", Description: "Without an address redrain uses an in-process back end."},
	{Key: "access", Title: "Access"},
	{Key: "logins", Title: "Players' logins", Description: "By WeChat and OpenID Connect. The same on every node."},
	{Key: "limits", Title: "Limits"},
	{Key: "risk", Title: "Bots and farms", Description: "Rules that judge players, and their consequences."},
	{Key: "money", Title: "Payments outside", Description: "The same on every node with the role settle."},
	{Key: "process", Title: "This process"},
}

// flags returns the settings as flags of the command line, in their order.
func (c *Config) flags() []*kong.Flag {
	return slices.DeleteFunc(
		kong.Must(c, kong.NoDefaultHelp(), kong.ExplicitGroups(Groups), kong.PostBuild(AddSecretFiles)).Model.Flags,
		func(f *kong.Flag) bool { return f.Name == "help" })
}

// EnvName returns the environment variable of a flag: --tap-rate is REDRAIN_TAP_RATE.
func EnvName(flag string) string {
	return "REDRAIN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Help returns the description of a flag with its accepted values.
func Help(v *kong.Value) string {
	text := v.Help
	if v.Tag.Has("range") || v.Tag.Has("oneof") && v.Tag.Get("oneof") != v.Default {
		if accepted := accepted(v); !strings.Contains(text, accepted) {
			text += " " + strings.ToUpper(accepted[:1]) + accepted[1:] + "."
		}
	}
	return text
}

// accepted returns a flag's accepted values: "0s to 5s", "one of off, watch or hold", "1s or more, or 0 (never)".
func accepted(v *kong.Value) string {
	if v.Tag.Has("oneof") {
		kinds := strings.Split(v.Tag.Get("oneof"), ",")
		last := len(kinds) - 1
		return "one of " + strings.Join(kinds[:last], ", ") + " or " + kinds[last]
	}
	least, most, _ := strings.Cut(bounds(v.Tag), "..")
	zero := ""
	if v.Tag.Has("zero") {
		zero = "0 (" + v.Tag.Get("zero") + ")"
	}
	if zero != "" && number(least) == 0 {
		least, zero = zero, ""
	}
	text := least + " to " + most
	if most == "" {
		text = least + " or more"
	}
	if zero != "" {
		text += ", or " + zero
	}
	return text
}

// bounds returns a flag's range: of the tag range, or from the tag least on, which the help does not repeat.
func bounds(tag *kong.Tag) string {
	if tag.Has("least") {
		return tag.Get("least") + ".."
	}
	return tag.Get("range")
}

// CheckTags checks flags against their tags need, oneof, range and least, and returns the faults.
func CheckTags(flags []*kong.Flag) (faults []string) {
	for _, f := range flags {
		value := reflect.Indirect(f.Target)
		switch {
		case f.Tag.Has("need") && value.IsZero():
			faults = append(faults, "--"+f.Name+": required")
		case !value.IsValid() || value.IsZero() && (f.Tag.Has("zero") || !f.HasDefault):
		case f.Tag.Has("oneof") && !isOneOf(value, strings.Split(f.Tag.Get("oneof"), ",")),
			bounds(f.Tag) != "" && !isWithin(value, bounds(f.Tag)):
			faults = append(faults, fmt.Sprintf("--%s %q: give %s", f.Name, fmt.Sprint(value), accepted(f.Value)))
		}
	}
	return faults
}

func isOneOf(value reflect.Value, kinds []string) bool {
	if list, ok := reflect.TypeAssert[[]string](value); ok {
		return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(kinds, s) })
	}
	return slices.Contains(kinds, value.String())
}

// isWithin compares as float64, which is exact for every bound in use. NaN is outside every range.
func isWithin(value reflect.Value, within string) bool {
	least, most, _ := strings.Cut(within, "..")
	n := number(fmt.Sprint(value))
	return n >= number(least) && (most == "" || n <= number(most))
}

func number(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil && text != "0" {
		return float64(d)
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
