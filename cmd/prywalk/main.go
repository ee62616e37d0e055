// Command prywalk samples the call stacks of other processes from outside, and
// shows what they do. See the README, or run prywalk help.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"prywalk/internal/budget"
	"prywalk/internal/printable"
	"prywalk/internal/process"
	"prywalk/internal/stranger"
	"prywalk/ptrace"
	"prywalk/report"
)

// Exit codes. A launched command's own status comes before them.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitDenied     = 3
	exitNoSamples  = 4
	exitDeadlock   = 5   // of dump --locks
	exitSlower     = 6   // of diff --fail-above
	exitOwnFailure = 125 // of record -- COMMAND, when prywalk itself failed
)

// exitError is an error that decides the exit code. With a nil err nothing is
// printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError makes an error that exits with 2.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func main() {
	obeyStops()
	stranger.Copier = []string{"/proc/self/exe", "copy-file"}
	os.Exit(run(os.Args[1:]))
}

// run executes a command line and gives the exit code.
func run(args []string) int {
	root := newRoot()
	err := unknownCommand(root, args)
	if err == nil {
		root.SetArgs(args)
		err = root.Execute()
	}
	if err == nil {
		return exitOK
	}
	var several listing
	switch {
	case errors.As(err, &several):
		say("%s", printable.Raw(several))
	case err.Error() != "":
		say("%v", err)
	}
	return exitCode(err)
}

// exitCode gives the code that an error stands for.
func exitCode(err error) int {
	var e *exitError
	var exec *ptrace.ExecError
	switch {
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &exec):
		return exec.ExitCode()
	case errors.Is(err, report.ErrValue), errors.Is(err, report.ErrExpr), errors.Is(err, report.ErrPer):
		return exitUsage
	case errors.Is(err, process.ErrDenied), errors.Is(err, ptrace.ErrDenied), errors.Is(err, os.ErrPermission):
		return exitDenied
	}
	return exitFailed
}

// sayLeftOut says what was left out for lack of memory, if anything was.
func sayLeftOut() {
	if line := budget.Process().LeftOut(); line != "" {
		say("%s", line)
	}
}

// say writes a line to stderr. What strings and errors among args have from the target is made printable.
func say(format string, args ...any) { printable.Fprintf(&messages, "prywalk: "+format+"\n", args...) }

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
			return &exitError{code: exitUsage}
		},
	}
	limit := memory(budget.Process().Total())
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
		return usageError("%v%s; see %s --help", err, meantFlag(cmd, err), cmd.CommandPath())
	})
	root.AddCommand(newRecord(), newReport(), newTop(), newDump(), newDiff(), newDoctor(), newDemo(), newBench(),
		newVersion(), newWorkload(), newBenchWorkload(), newCopyFile())
	root.SetUsageFunc(usage)
	root.SetHelpCommand(newHelp())
	complete(root)
	return root
}
