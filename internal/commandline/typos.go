// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"errors"
	"strings"

	"prywalk/internal/exit"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	meant := ClosestMatch(args[0], commandNames(root))
	if meant == "" {
		return exit.Usage("unknown command %q; prywalk --help lists the commands", args[0])
	}
	return exit.Usage("unknown command %q (do you mean prywalk %s?); prywalk --help lists the commands", args[0], meant)
}

func commandNames(root *cobra.Command) (list []string) {
	for _, c := range root.Commands() {
		if !c.Hidden {
			list = append(list, c.Name())
		}
	}
	return list
}

// suggestFlag suggests a flag, or a command that has it; "": none.
func suggestFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); len(letters) > 1 && cmd.Flags().Lookup(letters) != nil {
		return " (write --" + letters + ")"
	}
	other := commandWith(cmd.Root(), name)
	switch {
	case other != "" && !cmd.HasParent():
		return " (give the command first: prywalk " + other + " " + dashedFlag(name) + " …)"
	case len(name) < 2:
		return ""
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, f.Name)
		}
	})
	meant := ClosestMatch(name, flags)
	switch {
	case other != "" && (meant == "" || EditDistance(name, meant) > 1):
		return " (it is a flag of prywalk " + other + ")"
	case meant != "":
		return " (do you mean --" + meant + "?)"
	}
	return ""
}

func dashedFlag(flag string) string {
	if len(flag) == 1 {
		return "-" + flag
	}
	return "--" + flag
}

func commandWith(root *cobra.Command, flag string) string {
	for _, row := range commandRows(root) {
		c, _, err := root.Find([]string{row[0]})
		if err == nil && (c.LocalFlags().Lookup(flag) != nil || len(flag) == 1 && c.Flags().ShorthandLookup(flag) != nil) {
			return row[0]
		}
	}
	return ""
}

// minPrefix is the least length of a word as a beginning.
const minPrefix = 4

// ClosestMatch returns the most similar word, or "". At most a third of the letters differ, or it is the beginning of
// exactly one, or begins with one.
func ClosestMatch(typed string, words []string) string {
	best, least, begun := "", (len(typed)+1)/3+1, 0
	for _, w := range words {
		n := EditDistance(strings.ToLower(typed), w)
		if len(typed) > 1 && strings.HasPrefix(w, typed) {
			begun++
			n = 0
		}
		if len(w) >= minPrefix && strings.HasPrefix(typed, w) {
			n = min(n, 1)
		}
		if n < least {
			best, least = w, n
		}
	}
	if begun > 1 {
		return ""
	}
	return best
}

// EditDistance is the restricted Damerau-Levenshtein distance.
func EditDistance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
