// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/base/tabular"
	"prywalk/internal/command/commandline"
	"prywalk/internal/command/console"
	"prywalk/internal/host/container"
	"prywalk/internal/host/procmem"
	"prywalk/internal/host/selection"
)

func processes() (list []selection.Process) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if p, ok := selection.ReadProcess("/proc", pid); ok {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b selection.Process) int { return a.PID - b.PID })
	return list
}

type processFlags struct {
	pids       commandline.PIDs
	name       string
	all        bool
	wait       bool
	allowsNone bool // the rule may select no process now

	mayWait, mayTakeAll bool // the command has --wait, --all

	rule   selection.Criteria
	finder *selection.Finder // may be nil
}

func (f *processFlags) addTargets(fl *pflag.FlagSet) {
	f.mayTakeAll = true
	fl.VarP(&f.pids, "pid", "p", "process IDs, separated by commas; repeatable")
	fl.StringVarP(&f.name, "name", "n", "", "the process of this name, instead of -p")
	fl.BoolVar(&f.all, "all", false, "with -n: every process of that name")
}

func (f *processFlags) addWait(fl *pflag.FlagSet) {
	f.mayWait = true
	fl.BoolVar(&f.wait, "wait", false, "with -n: wait until such a process starts")
}

// ruleForm and ruleFlags name the flags that select processes of the whole host, for a command's form and for messages.
const (
	ruleForm  = "-a | --cgroup PATH | --unit NAME | --container NAME | --pod NAME | --user USER | --match REGEXP"
	ruleFlags = "-a, --cgroup, --unit, --container, --pod, --user, --match"
)

func (f *processFlags) addRule(fl *pflag.FlagSet) {
	fl.BoolVarP(&f.rule.All, "system-wide", "a", false, "every process that may be read, instead of -p")
	fl.StringVar(&f.rule.Cgroup, "cgroup", "", "the processes of a cgroup and of those below it: `PATH`, or a pattern")
	fl.StringVar(&f.rule.Unit, "unit", "", "the processes of a systemd unit of this `NAME`, or pattern")
	fl.StringVar(&f.rule.Container, "container", "", "the processes of the container of this `NAME` or id")
	fl.StringVar(&f.rule.Pod, "pod", "", "the processes of the Kubernetes pod of this `NAME`, or NAMESPACE/NAME")
	fl.StringVar(&f.rule.User, "user", "", "the processes that run as this `USER`, a name or a number")
	fl.StringVar(&f.rule.Match, "match", "", "the processes with a name that matches this `REGEXP`")
}

func (f *processFlags) hasRule() bool { return f.rule != selection.Criteria{} }

// isGroup reports whether new processes of what is selected stay in it.
func (f *processFlags) isGroup() bool {
	return f.rule.Cgroup != "" || f.rule.Unit != "" || f.rule.Container != "" || f.rule.Pod != ""
}

func (f *processFlags) findByRule() error {
	if len(f.pids) > 0 || f.name != "" {
		return errs.Usage("give either -p or -n, or what selects processes (%s)", ruleFlags)
	}
	rule, err := selection.New(f.rule)
	if err != nil {
		return errs.Usage("%v", err)
	}
	f.finder = selection.NewFinder(rule)
	if f.pids = f.finder.Find(procmem.BootTicks()); len(f.pids) == 0 && !f.allowsNone {
		if f.rule.Container != "" || f.rule.Pod != "" {
			return fmt.Errorf("no process is selected by %s; %s", rule, containersFound(f.finder.Containers(nil), ", "))
		}
		return fmt.Errorf("no process is selected by %s; ps -eo pid,user,comm,cgroup lists what there is", rule)
	}
	if f.rule.Container == "" && f.rule.Pod == "" {
		return nil
	}
	return f.checkOne(f.finder.Containers(f.pids))
}

// checkOne fails if a name is of several containers or pods.
func (f *processFlags) checkOne(found []container.Container) error {
	several := map[string]bool{}
	for _, c := range found {
		if f.rule.Container != "" {
			several[c.ID] = true
		} else {
			several[c.Namespace+"/"+c.Pod] = true
		}
	}
	if len(several) < 2 {
		return nil
	}
	what, next := "--container "+f.rule.Container, "more of an id, or --pod as well"
	if f.rule.Container == "" {
		what, next = "--pod "+f.rule.Pod, "NAMESPACE/NAME"
	}
	return &errs.Error{Code: errs.ExitUsage, Err: ambiguousNameError(fmt.Sprintf("%d are selected by %s; give %s: %s",
		len(several), printable.String(what), next, containersFound(found, "\n  ")))}
}

// containersFound lists at most maxListedProcesses.
func containersFound(list []container.Container, separator string) string {
	if len(list) == 0 {
		return "no process that may be seen here has a container's control group (one in another pid namespace is not " +
			"seen, and some rootless engines make none: then give -p PID, of podman inspect -f '{{.State.Pid}}' NAME)"
	}
	var names []string
	for i := range list[:min(len(list), maxListedProcesses)] {
		names = append(names, printable.String(list[i].String()))
	}
	if more := len(list) - maxListedProcesses; more > 0 {
		names = append(names, fmt.Sprintf("… %d more", more))
	}
	text := "containers with processes: " + strings.TrimPrefix(separator, ", ") + strings.Join(names, separator)
	if slices.ContainsFunc(list, func(c container.Container) bool { return c.Name == "" }) {
		text += "; the names of the containers that are listed by id cannot be read here (prywalk help rights): give the id"
	}
	return text
}

func (f *processFlags) mayBeProcess(cmd *cobra.Command, args []string) bool {
	return cmd.ArgsLenAtDash() < 0 && len(args) == 1 && len(f.pids) == 0 && f.name == "" && !f.hasRule()
}

// takeArgument takes a name or pid as -n or -p, and returns the other arguments.
func (f *processFlags) takeArgument(cmd *cobra.Command, args []string) []string {
	if !f.mayBeProcess(cmd, args) {
		return args
	}
	switch {
	case len(processesNamed(args[0])) > 0:
		f.name = args[0]
	case isProcess(args[0]):
		console.Infof("%s is the number of a process, used as with -p %s", args[0], args[0])
		_ = f.pids.Set(args[0])
	default:
		return args
	}
	return nil
}

func isProcessArgument(arg string) bool { return len(processesNamed(arg)) > 0 || isProcess(arg) }

func isProcess(arg string) bool {
	pid, ok := commandline.ParsePID(arg)
	return ok && unix.Kill(pid, 0) != unix.ESRCH
}

func (f *processFlags) setTargets() error {
	switch {
	case f.all && f.name == "":
		return errs.Usage("--all is for -n NAME: it takes every process of that name")
	case f.wait && f.name == "":
		return errs.Usage("--wait is for -n NAME: it waits until there is such a process")
	case f.hasRule():
		return f.findByRule()
	case f.name == "":
		return nil
	case len(f.pids) > 0:
		return errs.Usage("give either -p or -n, not both")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	f.pids, err = f.findByName(ctx)
	return err
}

const namePoll = 20 * time.Millisecond

// findByName fails for several matches, unless --all takes them or --wait takes the first.
func (f *processFlags) findByName(ctx context.Context) (commandline.PIDs, error) {
	for reported := false; ; {
		found := processesNamed(f.name)
		switch {
		case f.all && len(found) > 0:
			var pids commandline.PIDs
			for _, p := range found {
				pids = append(pids, p.PID)
			}
			return pids, nil
		case len(found) == 1 || f.wait && len(found) > 0:
			return commandline.PIDs{found[0].PID}, nil
		case len(found) > 1:
			return nil, f.ambiguous(found)
		case !f.wait:
			return nil, f.noSuchName()
		case !reported:
			reported = true
			console.Infof("waiting for a process named %s; Ctrl-C to abort", f.name)
		}
		select {
		case <-ctx.Done():
			return nil, errs.With(errs.ExitNoSamples, "no process named %q was started", f.name)
		case <-time.After(namePoll):
		}
	}
}

func (f *processFlags) noSuchName() error {
	next := "ps -e lists what there is"
	switch {
	case f.mayWait:
		next += ", --wait waits for one"
	case f.allowsNone:
		next += fmt.Sprintf(", --match '^%s$' instead of -n waits for one", regexp.QuoteMeta(f.name))
	}
	return fmt.Errorf("no process has the name %q; %s", f.name, next)
}

// processesNamed compares the kernel's names, files, and first arguments.
func processesNamed(name string) (found []selection.Process) {
	for _, p := range processes() {
		if p.Name == name || slices.Contains(p.Others, name) {
			found = append(found, p)
		}
	}
	return found
}

const (
	maxListedProcesses = 20
	commandLength      = 60
)

func (f *processFlags) ambiguous(found []selection.Process) error {
	var b strings.Builder
	all := ""
	if f.mayTakeAll {
		all = ", or take all with --all"
	}
	printable.Fprintf(&b, "%d processes have the name %q; choose with -p%s:", len(found), f.name, all)
	for i, p := range found {
		if i == maxListedProcesses {
			fmt.Fprintf(&b, "\n  … %d more", len(found)-i)
			break
		}
		printable.Fprintf(&b, "\n  -p %d  %s", p.PID, tabular.Cut(printable.String(p.Command), commandLength))
	}
	return &errs.Error{Code: errs.ExitUsage, Err: ambiguousNameError(b.String())}
}

type ambiguousNameError string

// Error implements error.
func (e ambiguousNameError) Error() string { return string(e) }
