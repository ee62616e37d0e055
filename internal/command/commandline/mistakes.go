// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/internal/base/exit"
)

// WrongFlag returns an unparsable flag's error, with the next step.
func WrongFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return exit.Usage("--%s: %s; see %s --help", invalid.GetFlag().Name, wrongValue(invalid), cmd.CommandPath())
	}
	return exit.Usage("%v; see %s --help", err, cmd.CommandPath())
}

const (
	suggestionDistance = 2 // letters; cobra's default
	maxSuggestions     = 3
)

// UnknownCommand rejects a first argument that is no command, before its flags are parsed as prywalk's.
func UnknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] == "" || strings.HasPrefix(args[0], "-") ||
		strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		return nil
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == args[0] || c.HasAlias(args[0]) {
			return nil
		}
	}
	root.SuggestionsMinimumDistance = suggestionDistance
	if meant := root.SuggestionsFor(args[0]); len(meant) > 0 && len(meant) <= maxSuggestions {
		return exit.Usage("unknown command %q (do you mean prywalk %s?); prywalk --help lists the commands", args[0],
			strings.Join(meant, " or "))
	}
	return exit.Usage("unknown command %q; prywalk --help lists the commands", args[0])
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
