// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"prywalk/internal/agent"
	"prywalk/internal/exit"
	"prywalk/internal/top"
	"prywalk/report"
)

func registerCompletions(root *cobra.Command) {
	words := map[string][]string{
		"by": append(report.Groupings(), "label"), "value": {"cpu", "wall", "runqueue", "blocked", "samples"},
		"state": report.States(), "engine": {engineAuto, enginePtrace, enginePerf},
		"per": report.Normalizations(), "sort": report.Orders(), "protocol": {agent.GRPC, agent.HTTP},
	}
	for _, cmd := range root.Commands() {
		for flag, values := range words {
			if cmd.Flags().Lookup(flag) != nil {
				if cmd.Name() == "top" && flag == "value" {
					values = clockNames()
				}
				_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		if cmd.Flags().Lookup("pid") != nil {
			_ = cmd.RegisterFlagCompletionFunc("pid", pidCompletions)
		}
		if cmd.Flags().Lookup("name") != nil {
			_ = cmd.RegisterFlagCompletionFunc("name", nameCompletions)
		}
	}
}

func setCompletionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	cmd.Args = nil
	cmd.Short = "complete commands and flags in your shell"
	cmd.Long = `  source <(prywalk completion bash)
  prywalk completion fish > ~/.config/fish/completions/prywalk.fish

Prints a script for a shell, which then completes commands, flags, their values and the
numbers and names of processes. COMMAND --help says where the script belongs.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return exit.Usage("no completion for the shell %q: choose bash, zsh, fish or powershell", args[0])
		}
		return cmd.Help()
	}
}

func clockNames() (names []string) {
	for _, c := range top.Clocks() {
		names = append(names, string(c))
	}
	return names
}

func pidCompletions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	for _, p := range processes() {
		list = append(list, fmt.Sprintf("%d\t%s", p.PID, unsafeInShells.ReplaceAllString(p.Name, "_")))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// nameCompletions omits names that a shell would have to quote.
func nameCompletions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var list []string
	seen := map[string]bool{}
	for _, p := range processes() {
		if !seen[p.Name] && !unsafeInShells.MatchString(p.Name) && !strings.HasPrefix(p.Name, "-") {
			seen[p.Name] = true
			list = append(list, p.Name)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// unsafeInShells matches characters special to a shell or terminal. Process names are untrusted, and completion scripts
// evaluate the line at the next TAB.
var unsafeInShells = regexp.MustCompile(`[^A-Za-z0-9_.+:@/-]`)
