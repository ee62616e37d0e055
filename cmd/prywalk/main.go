// Command prywalk samples the call stacks of other processes from outside, and
// shows what they do. See the README, or run prywalk help.
package main

import (
	"errors"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"prywalk/internal/budget"
	"prywalk/internal/commandline"
	"prywalk/internal/console"
	"prywalk/internal/exit"
	"prywalk/internal/printable"
	"prywalk/internal/recording"
	"prywalk/internal/refusal"
	"prywalk/internal/stranger"
	"prywalk/ptrace"
	"prywalk/report"
)

func main() {
	recording.ObeyStops()
	stranger.Copier = []string{"/proc/self/exe", "copy-file"}
	os.Exit(run(os.Args[1:]))
}

// run executes a command line and gives the exit code.
func run(args []string) int {
	root := newRoot()
	err := commandline.UnknownCommand(root, args)
	if err == nil {
		root.SetArgs(args)
		err = root.Execute()
	}
	if err == nil {
		return exit.OK
	}
	var several listing
	switch {
	case errors.As(err, &several):
		console.Say("%s", printable.Raw(several))
	case err.Error() != "":
		console.Say("%v", err)
	}
	return exitCode(err)
}

// exitCode gives the code that an error stands for.
func exitCode(err error) int {
	var e *exit.Error
	var exec *ptrace.ExecError
	switch {
	case errors.As(err, &e):
		return e.Code
	case errors.As(err, &exec):
		return exec.ExitCode()
	case errors.Is(err, report.ErrValue), errors.Is(err, report.ErrExpr), errors.Is(err, report.ErrPer):
		return exit.WrongUsage
	case errors.Is(err, refusal.Denied), errors.Is(err, ptrace.ErrDenied), errors.Is(err, os.ErrPermission):
		return exit.Denied
	}
	return exit.Failed
}

// newRoot builds the command tree.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "prywalk",
		Short: "sampling profiler and stack walker that looks at processes from outside",
		Long: `  prywalk record -p 4711 -d 10s && prywalk report
  prywalk dump -p 4711
  prywalk demo

prywalk reads the call stacks of every thread of a process, running or waiting,
from outside: nothing is loaded into it, it needs no restart, no agent and no frame
pointers. A running thread is stopped for some tens of microseconds, or sampled by the
kernel. A sleeping one is read as it sleeps, and stopped only where its call takes no
harm and its stack needs that.

Begin with record and report: where does the time go? With dump: where does it hang?
If prywalk may not look at a process, prywalk doctor -p PID says why, and the remedy.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return &exit.Error{Code: exit.WrongUsage}
		},
	}
	limit := commandline.Memory(budget.Process().Total())
	root.PersistentFlags().Var(&limit, "max-memory", "keep within about this much memory, whatever files claim to be")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Flags().Changed("max-memory") {
			budget.Process().SetTotal(int64(limit))
		}
		if cmd.Hidden { // a workload, which is measured
			return
		}
		debug.SetMemoryLimit(budget.Process().Total()) // garbage is collected sooner near it
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Usage("%v%s; see %s --help", err, commandline.MeantFlag(cmd, err), cmd.CommandPath())
	})
	root.AddCommand(newRecord(), newReport(), newTop(), newDump(), newDiff(), newDoctor(), newDemo(), newBench(),
		newVersion(), newWorkload(), newBenchWorkload(), newCopyFile(),
		newAskForEvents())
	root.SetUsageFunc(commandline.Usage)
	root.SetHelpCommand(commandline.NewHelp())
	complete(root)
	return root
}
