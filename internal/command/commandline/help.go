// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"cmp"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prywalk/docs"
	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/command/console"
)

// HelpWidth is the width without a terminal, columns.
const HelpWidth = 100

// NewHelp returns the help command, which, unlike cobra's, rejects unknown commands.
func NewHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND|TOPIC]",
		Short: "help for a command, as COMMAND --help, or on a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 1 {
				if shown, err := showTopic(cmd, args[0]); shown {
					return err
				}
			}
			if err := UnknownCommand(root, args); err != nil {
				return err
			}
			about, _, err := root.Find(args)
			if err != nil {
				return err
			}
			return about.Help()
		},
	}
}

// Usage writes a command's form, subcommands and flags.
func Usage(cmd *cobra.Command) error {
	width := cmp.Or(console.Width(os.Stdout), HelpWidth)
	var b strings.Builder
	printable.Fprintf(&b, "Usage:\n  %s\n", strings.TrimSpace(useLine(cmd)))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		writeColumns(&b, commandRows(cmd), width)
		b.WriteString("\nTopics (prywalk help TOPIC):\n")
		var topics [][2]string
		for _, t := range helpTopics {
			topics = append(topics, [2]string{t.name, t.text})
		}
		writeColumns(&b, topics, width)
	}
	for _, set := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", cmd.LocalFlags()}, {"Global flags", cmd.InheritedFlags()}} {
		if set.flags.HasAvailableFlags() {
			printable.Fprintf(&b, "\n%s:\n", set.title)
			writeColumns(&b, flagRows(set.flags), width)
		}
	}
	_, err := io.WriteString(cmd.OutOrStdout(), b.String())
	return err
}

// FirstCommands head the list.
var FirstCommands = []string{"record", "report", "top", "dump", "diff", "doctor", "demo"}

func commandRows(cmd *cobra.Command) (rows [][2]string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			rows = append(rows, [2]string{c.Name(), c.Short})
		}
	}
	place := func(name string) int {
		if i := slices.Index(FirstCommands, name); i >= 0 {
			return i
		}
		return len(FirstCommands)
	}
	slices.SortStableFunc(rows, func(a, b [2]string) int { return cmp.Compare(place(a[0]), place(b[0])) })
	return rows
}

func useLine(cmd *cobra.Command) string {
	if cmd.HasAvailableSubCommands() {
		return cmd.CommandPath() + " COMMAND"
	}
	return cmd.UseLine()
}

var values = map[string]string{
	"output": "FILE", "stats": "FILE", "html": "FILE", "core": "FILE", "symbols": "FILE",
	"speedscope": "FILE", "firefox": "FILE", "perfetto": "FILE", "otlp": "FILE", "pgo": "FILE",
	"sysroot": "DIR", "source-dir": "DIR", "dir": "DIR", "name": "NAME",
	"callers": "FUNC", "callees": "FUNC", "source": "FUNC", "slow": "FUNC",
	"threads": "REGEXP", "focus": "REGEXP", "ignore": "REGEXP", "thread": "REGEXP", "process": "REGEXP", "state": "REGEXP",
	"wait": "REGEXP",
	"json": "FILE", "by": "WHAT", "value": "CLOCK", "engine": "HOW", "per": "WHAT",
	"sort": "WHAT", "pid": "PID",
}

var kinds = map[string]string{"int": "N", "strings": "NAME,…"}

func flagRows(set *pflag.FlagSet) (rows [][2]string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, text := pflag.UnquoteUsage(f)
		switch word := values[f.Name]; {
		case word != "" && (kind == "string" || kind == "stringArray"), kind == "int" && f.Name == "pid":
			kind = word
		default:
			kind = cmp.Or(kinds[kind], kind)
		}
		left := "    --" + f.Name
		if f.Shorthand != "" {
			left = "-" + f.Shorthand + ", --" + f.Name
		}
		if kind != "" {
			left += " " + kind
		}
		if showsDefault(f) {
			text += " (default " + f.DefValue + ")"
		}
		rows = append(rows, [2]string{left, text})
	})
	return rows
}

func showsDefault(f *pflag.Flag) bool {
	switch f.DefValue {
	case "", "0", "0%", "false", "[]", "<nil>":
		return false
	}
	return !strings.Contains(f.Usage, "default")
}

func writeColumns(b *strings.Builder, rows [][2]string, width int) {
	left := 0
	for _, r := range rows {
		left = max(left, utf8.RuneCountInString(r[0]))
	}
	left += len("  ") + len("   ")
	if left > width/2 {
		left = len("      ")
	}
	for _, r := range rows {
		line := "  " + r[0]
		if n := left - utf8.RuneCountInString(line); n >= 2 {
			b.WriteString(line + strings.Repeat(" ", n))
		} else {
			b.WriteString(line + "\n" + strings.Repeat(" ", left))
		}
		printable.Fprintf(b, "%s\n", tabular.HangingIndent(width, left, r[1]))
	}
}

var helpTopics = []struct{ name, page, text string }{
	{"rights", "rights.md", "what the kernel must allow, and the remedy where it does not"},
	{"names", "names.md", "incomplete stacks, missing names, entries in brackets"},
	{"waiting", "waiting.md", "locks, owners, deadlock unknown, [idle: RULE]"},
	{"noticed", "noticed.md", "what the target can notice, and how to limit it"},
	{"errors", "errors.md", "notes, exit codes, events during a run"},
	{"limits", "limits.md", "what prywalk cannot see or do"},
	{"formats", "recording.md", "the recording, --stats and other files"},
}

func showTopic(cmd *cobra.Command, name string) (bool, error) {
	for _, t := range helpTopics {
		if t.name != name {
			continue
		}
		page, err := docs.Topics.ReadFile(t.page)
		if err != nil {
			return true, errs.With(errs.ExitFailed, "the help page on %s is not in this build: %w", name, err)
		}
		_, err = cmd.OutOrStdout().Write(page)
		return true, err
	}
	return false, nil
}

// WrongFlag returns an unparsable flag's error, with the next step.
func WrongFlag(cmd *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return errs.Usage("--%s: %s; see %s --help", invalid.GetFlag().Name, wrongValue(invalid), cmd.CommandPath())
	}
	return errs.Usage("%v; see %s --help", err, cmd.CommandPath())
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
		return errs.Usage("unknown command %q (do you mean prywalk %s?); prywalk --help lists the commands", args[0],
			strings.Join(meant, " or "))
	}
	return errs.Usage("unknown command %q; prywalk --help lists the commands", args[0])
}

// wrongValue leaves out pflag's names of Go functions.
func wrongValue(e *pflag.InvalidValueError) string {
	if own, ok := errors.AsType[*errs.Error](e); ok {
		return own.Error()
	}
	problem := "is not a valid value"
	if errors.Is(e, strconv.ErrRange) {
		problem = "is out of range"
	}
	want := map[string]string{
		"int":  "give a whole number",
		"bool": "the flag takes no value, or true or false", "stringSlice": "give texts, separated by commas",
	}[e.GetFlag().Value.Type()]
	text := strconv.Quote(e.GetValue()) + " " + problem
	if want != "" {
		text += ": " + want
	}
	return text
}
