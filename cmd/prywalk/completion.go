// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"prywalk/internal/exit"
	"prywalk/internal/top"
	"prywalk/report"
)

// complete tells the shell the values of flags, and the processes for -p.
func complete(root *cobra.Command) {
	words := map[string][]string{
		"by": report.Groupings(), "value": {"cpu", "wall", "runqueue", "blocked", "samples"},
		"state": report.States(), "engine": {engineAuto, enginePtrace, enginePerf},
		"per": report.Pers(), "sort": report.Orders(),
	}
	for _, cmd := range root.Commands() {
		for flag, values := range words {
			if cmd.Flags().Lookup(flag) != nil {
				if cmd.Name() == "top" && flag == "value" {
					values = clockNames()
				}
				// it exists
				_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if cmd.Flags().Lookup("pid") != nil {
			_ = cmd.RegisterFlagCompletionFunc("pid", pidCompletions) // it exists
		}
		if cmd.Flags().Lookup("name") != nil {
			_ = cmd.RegisterFlagCompletionFunc("name", nameCompletions) // it exists
		}
	}
}

// refuseShells makes an error of a shell that "prywalk completion" has no script for; without one it prints its help.
func refuseShells(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() != "completion" {
			continue
		}
		cmd.Args = nil
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usage("no completion for the shell %q: choose bash, zsh, fish or powershell", args[0])
			}
			return cmd.Help()
		}
	}
}

// clockNames are the values that top has.
func clockNames() (names []string) {
	for _, c := range top.Clocks() {
		names = append(names, string(c))
	}
	return names
}

// pidCompletions lists the processes, the number first and the name as its description.
func pidCompletions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, p := range processes() {
		list = append(list, fmt.Sprintf("%d\t%s", p.pid, forShells.ReplaceAllString(p.name, "_")))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// nameCompletions lists the processes' names, but those that a shell would have to quote.
func nameCompletions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	seen := map[string]bool{}
	for _, p := range processes() {
		if !seen[p.name] && !forShells.MatchString(p.name) && !strings.HasPrefix(p.name, "-") {
			seen[p.name] = true
			list = append(list, p.name)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// forShells matches what may mean something to a shell, or to a terminal. A process's name is up to its user, and a
// shell puts a completion into the line as it is: the scripts for bash, zsh and fish then evaluate the line at the
// next TAB.
var forShells = regexp.MustCompile(`[^A-Za-z0-9_.+:@/-]`)
