// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"prywalk/internal/base/exit"
)

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
			return exit.Usage("no completion for the shell %q: choose bash, zsh, fish or powershell", args[0])
		}
		return cmd.Help()
	}
}
