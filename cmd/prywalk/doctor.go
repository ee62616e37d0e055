// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"math"
	"os"

	"github.com/spf13/cobra"

	"prywalk/internal/base/errs"
	"prywalk/internal/command/console"
	"prywalk/internal/command/doctor"
)

func newDoctor() *cobra.Command {
	var pid int
	var c processFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [-p PID | -n NAME]",
		Short: "check what the kernel, the user and the target allow, and how to fix it",
		Long:  helpPage("doctor"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("pid") && (pid <= 0 || pid > math.MaxInt32) {
				return errs.Usage("-p %d: give a process number", pid)
			}
			if c.name != "" && pid != 0 {
				return errs.Usage("give either -p or -n, not both")
			}
			if pid == 0 {
				args = c.takeArgument(cmd, args)
			}
			if err := cmp.Or(noArgs(cmd, args), c.setTargets()); err != nil {
				return err
			}
			if len(c.pids) > 0 {
				pid = c.pids[0]
			}
			var err error
			found := doctor.Subject{PID: pid, MayAsk: checkPerfEvents}.Check()
			if asJSON {
				err = doctor.WriteJSON(os.Stdout, found)
			} else {
				err = doctor.Write(os.Stdout, found, console.UseColor(os.Stdout), console.Width(os.Stdout))
			}
			if err != nil {
				return err
			}
			console.ReportOmitted()
			switch {
			case doctor.Denied(found):
				return errs.With(errs.ExitDenied, "a right is missing; see the remedies above")
			case doctor.Worst(found) == doctor.Fail:
				return errs.With(errs.ExitFailed, "a check failed; see the lines with fail above")
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&pid, "pid", "p", 0, "a process to check as well")
	cmd.Flags().StringVarP(&c.name, "name", "n", "", "the process of this name, instead of -p")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}
