package main

import (
	"os"

	"github.com/spf13/cobra"

	"prywalk/internal/console"
	"prywalk/internal/doctor"
	"prywalk/internal/exit"
)

func newDoctor() *cobra.Command {
	var pid int
	var c choice
	cmd := &cobra.Command{
		Use:   "doctor [-p PID | -n NAME]",
		Short: "what this kernel, user and target allow, and the remedy for what is missing",
		Long: `  prywalk doctor
  prywalk doctor -p 4711

Checks what prywalk needs of the kernel, of this user's rights, and of a process, and
names for each thing that is missing the smallest remedy.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("pid") && pid <= 0 {
				return exit.Usage("-p %d: give a process number", pid)
			}
			if c.name != "" && pid != 0 {
				return exit.Usage("give either -p or -n, not both")
			}
			if err := c.find(); err != nil {
				return err
			}
			if len(c.pids) > 0 {
				pid = c.pids[0]
			}
			found := doctor.Options{PID: pid, Try: true, MayAsk: survivable}.Check()
			if err := doctor.Write(os.Stdout, found, console.UseColor(os.Stdout), console.Width(os.Stdout)); err != nil {
				return err
			}
			console.SayLeftOut()
			if doctor.Worst(found) == doctor.Fail {
				return exit.With(exit.Failed, "something that is needed is missing; see the remedies above")
			}
			return nil
		},
	}
	cmd.Flags().IntVarP(&pid, "pid", "p", 0, "a process to check as well")
	cmd.Flags().StringVarP(&c.name, "name", "n", "", "the process of this name, instead of -p")
	return cmd
}
