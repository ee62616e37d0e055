// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/internal/exit"
)

// WrongFlag returns an unparsable flag's error, with the next step.
func WrongFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return exit.Usage("--%s: %s; see %s --help", invalid.GetFlag().Name, wrongValue(invalid), cmd.CommandPath())
	}
	return exit.Usage("%v%s; see %s --help", err, suggestFlag(cmd, err), cmd.CommandPath())
}

// wrongValue leaves out pflag's names of Go functions.
func wrongValue(e *pflag.InvalidValueError) string {
	if own, ok := errors.AsType[*exit.Error](e); ok {
		return own.Error()
	}
	problem := "is not a valid value"
	if errors.Is(e, strconv.ErrRange) {
		problem = "is out of range"
	}
	want := map[string]string{
		"int": "give a whole number", "intSlice": "give whole numbers, separated by commas",
		"float64": "give a number", "float64Slice": "give numbers, separated by commas",
		"bool": "the flag takes no value, or true or false", "stringSlice": "give texts, separated by commas",
	}[e.GetFlag().Value.Type()]
	text := strconv.Quote(e.GetValue()) + " " + problem
	if want != "" {
		text += ": " + want
	}
	return text
}

// CommandBefore returns a command without its "--": "ls -la" of "-d 10s ls -la". It begins with the first argument that
// is neither a flag nor a flag's value; empty: none.
func CommandBefore(flags *pflag.FlagSet, args []string) []string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return nil
		case !strings.HasPrefix(args[i], "-") || args[i] == "-":
			return args[i:]
		}
		f, inOne := flagOf(flags, args[i])
		if f == nil {
			return nil // mistyped flag: the next argument may be its value
		}
		if !inOne && f.NoOptDefVal == "" {
			i++
		}
	}
	return nil
}

// flagOf returns inOne if the argument includes the value.
func flagOf(flags *pflag.FlagSet, arg string) (f *pflag.Flag, inOne bool) {
	if name, long := strings.CutPrefix(arg, "--"); long {
		name, _, inOne = strings.Cut(name, "=")
		return flags.Lookup(name), inOne
	}
	return flags.ShorthandLookup(arg[1:2]), len(arg) > len("-x")
}
