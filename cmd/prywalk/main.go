// SPDX-License-Identifier: Apache-2.0

// Command prywalk samples the call stacks of other processes from outside: see README.md or prywalk help.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/command/recording"
	"prywalk/internal/host/cgroup"
	"prywalk/internal/host/filememory"
	"prywalk/internal/host/launch"
	"prywalk/internal/host/outfile"
	"prywalk/internal/host/process"
	"prywalk/internal/host/safeopen"
	"prywalk/report"
)

// main stays on the first thread until [launch.RelaxTimers] has returned.
func init() { runtime.LockOSThread() }

func main() {
	if err := process.CheckRuntime(); err != nil {
		console.Errorf("%v", err)
		os.Exit(internalFailureCode(os.Args[1:]))
	}
	if len(os.Args) > 1 && slices.Contains([]string{"record", "top", "agent"}, os.Args[1]) {
		launch.RelaxTimers(os.Args)
	}
	runtime.UnlockOSThread()
	recording.HandleJobControl()
	recording.HandleQuit()
	safeopen.Copier = []string{selfFile, "copy-file"}
	os.Exit(run(os.Args[1:]))
}

// internalFailureCode returns the exit code of a failure before the command line is run.
func internalFailureCode(args []string) int {
	cmd, rest, err := newRoot().Find(args)
	if err == nil && cmd.ParseFlags(rest) == nil && launchesCommand(cmd, cmd.Flags().Args()) {
		return errs.ExitInternal
	}
	return errs.ExitFailed
}

func launchesCommand(cmd *cobra.Command, args []string) bool {
	return cmd.Name() == "record" &&
		(cmd.ArgsLenAtDash() >= 0 || len(args) > 1 || len(args) == 1 && !isProcessArgument(args[0]))
}

func run(args []string) int {
	root := newRoot()
	err := commandline.UnknownCommand(root, args)
	if err == nil {
		root.SetArgs(args)
		err = cmp.Or(root.Execute(), console.Stdout.Err())
	}
	if err == nil {
		return errs.ExitOK
	}
	if at, ok := errors.AsType[*os.PathError](err); ok && at.Path == os.Stdout.Name() {
		next := "open a file or a pipe for it"
		if errors.Is(err, unix.ENOSPC) {
			next = "free some space, or write it elsewhere"
		}
		err = fmt.Errorf("cannot write the standard output: %w; %s", at.Err, next)
	}
	printError(err, wantsJSON(root, args))
	return exitCode(err)
}

// printError prints nothing for the exit status of a launched command.
func printError(err error, asJSON bool) {
	var several ambiguousNameError
	switch {
	case err.Error() == "":
	case asJSON:
		console.ErrorJSON(exitCode(err), err.Error())
	case errors.As(err, &several):
		console.Errorf("%s", printable.Raw(several))
	default:
		console.Errorf("%v", err)
	}
}

// wantsJSON reports whether errors are to be JSON; false for an unparsable command line.
func wantsJSON(root *cobra.Command, args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	cmd, _, err := root.Find(args)
	if err != nil {
		return false
	}
	flag := cmd.Flags().Lookup("json")
	return flag != nil && flag.Value.Type() == "bool" && (slices.Contains(args, "--json") || flag.Value.String() == "true")
}

func exitCode(err error) int {
	var e *errs.Error
	var exec *launch.ExecError
	switch {
	case errors.As(err, &e):
		return e.Code
	case errors.As(err, &exec):
		return exec.ExitCode()
	case errors.Is(err, report.ErrValue), errors.Is(err, report.ErrExpr), errors.Is(err, report.ErrNormalization):
		return errs.ExitUsage
	case errors.Is(err, errs.Denied), errors.Is(err, os.ErrPermission):
		return errs.ExitDenied
	case errors.Is(err, errs.Traced):
		return errs.ExitNoSamples
	}
	return errs.ExitFailed
}

// limitToHalf bounds --max-memory's default, also where large profiles raise it, to half of the control group's limit;
// without one profiles raise it to half of the machine's memory.
func limitToHalf() {
	group := cgroup.Root("/").Memory()
	half := group / 2
	var si unix.Sysinfo_t
	if half == 0 && unix.Sysinfo(&si) == nil {
		half = int64(si.Totalram) * int64(si.Unit) / 2
	}
	filememory.Process().SetMost(half)
	if group > 0 && half < filememory.Process().Total() {
		filememory.Process().SetTotal(half)
		console.Infof("--max-memory is %s here: half of the control group's memory limit (%s)", filememory.Size(half),
			filememory.Size(group))
	}
}

// checkValues rejects empty values, which a script's unset variables give.
func checkValues(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" {
			err = errs.Usage("--%s has an empty value; leave it out, or give one", f.Name)
		}
	})
	return err
}

func flagError(flag string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", flag, err)
}

func checkRows(n int) error {
	if n == 0 || n < -1 {
		return errs.Usage("--rows %d: give at least 1, or -1 for all", n)
	}
	return nil
}

// isOneOutput reports whether two paths given for output are one file or both standard output.
func isOneOutput(a, b string) bool {
	return console.IsStdout(a) && console.IsStdout(b) ||
		a != "" && b != "" && filepath.Clean(a) == filepath.Clean(b) && outfile.Replaceable(a)
}

func checkDirectory(flag, dir, next string) error {
	st, err := os.Stat(dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("--%s: %w; %s", flag, err, next)
	case err != nil || !st.IsDir():
		return errs.Usage("--%s %s: not a directory; %s", flag, dir, next)
	}
	return nil
}

var buildOnly []func() *cobra.Command

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "prywalk",
		Short:         "sampling profiler and stack walker for running processes",
		Long:          helpPage("prywalk"),
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmd.Help(); err != nil {
				return err
			}
			return &errs.Error{Code: errs.ExitUsage}
		},
	}
	limit := filememory.Process().Total()
	root.PersistentFlags().Var(commandline.Memory(&limit), "max-memory",
		"limit prywalk's memory to about this size; unless given, large profiles may take more, at most half of the "+
			"host's memory, and all at most half of its cgroup's limit")
	quiet := root.PersistentFlags().BoolP("quiet", "q", false, "print errors only")
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		console.Quiet(*quiet)
		if err := checkValues(cmd.Flags()); err != nil {
			return err
		}
		if cmd.Flags().Changed("max-memory") {
			filememory.Process().SetTotal(limit)
		}
		if cmd.Hidden { // measured workloads and helper processes
			return nil
		}
		if cmd.Flags().Lookup("pid") != nil && !cmd.Flags().Changed("core") {
			err := cmp.Or(process.CheckFiles(), process.CheckProc())
			if err != nil && launchesCommand(cmd, args) {
				err = &errs.Error{Code: errs.ExitInternal, Err: err}
			}
			if err != nil {
				return err
			}
		}
		if !cmd.Flags().Changed("max-memory") {
			limitToHalf()
		}
		debug.SetMemoryLimit(filememory.Process().Total())
		return nil
	}
	root.SetOut(&console.Stdout)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(commandline.WrongFlag)
	root.AddCommand(newRecord(), newReport(), newTop(), newDump(), newDiff(), newDoctor(), newDemo(), newAgent(), newMCP(),
		newSchema(), newVersion(), newWorkload(), newCopyFile(), newPerfEventsTest())
	for _, command := range buildOnly {
		root.AddCommand(command())
	}
	root.SetUsageFunc(commandline.Usage)
	root.SetHelpCommand(commandline.NewHelp())
	setCompletionCommand(root)
	return root
}

// selfFile starts this very program, also after its file was replaced. The kernel names such a process exe.
const selfFile = "/proc/self/exe"

const copyFD = 3

// newCopyFile copies in a process of its own, as a FUSE file system may not answer.
func newCopyFile() *cobra.Command {
	return hidden("copy-file", func() error {
		return safeopen.Copy(os.Stdin, os.NewFile(copyFD, "copy"), os.Stdout)
	})
}

// hidden returns a command of prywalk's own processes.
func hidden(name string, run func() error) *cobra.Command {
	return &cobra.Command{Use: name, Hidden: true, Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return run() }}
}

func noArgs(cmd *cobra.Command, args []string) error {
	fl := cmd.Flags()
	if len(args) == 1 && fl.Lookup("pid") != nil && !fl.Changed("pid") && !fl.Changed("name") {
		return errs.Usage("no process has the name or the number %q; see %s --help", args[0], cmd.CommandPath())
	}
	if len(args) > 0 {
		return errs.Usage("%s takes no argument %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
}
