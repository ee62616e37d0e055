// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"strings"

	"github.com/spf13/cobra"

	"prywalk/internal/base/errs"
)

//go:embed help/*.txt
var helpPages embed.FS

// helpPage returns a command's help.
func helpPage(command string) string {
	text, err := helpPages.ReadFile("help/" + command + ".txt")
	if err != nil {
		panic(err) // the page is part of the program
	}
	_, page, _ := strings.Cut(string(text), "\n") // the licence
	return strings.TrimRight(page, "\n")
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

Prints a script for a shell, which then completes commands and flags. COMMAND --help
says where the script belongs.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return errs.Usage("no completion for the shell %q: choose bash, zsh, fish or powershell", args[0])
		}
		return cmd.Help()
	}
}
