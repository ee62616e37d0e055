// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"prywalk/internal/commandline"
	"prywalk/internal/console"
	"prywalk/internal/exit"
	"prywalk/internal/printable"
	"prywalk/internal/tabular"
)

// processName is a process that runs, with the names that it is known by.
type processName struct {
	pid     int
	name    string   // the kernel's
	others  []string // its file's, and that of its first argument
	command string   // what it was started with
}

// processes lists those that have a program, in the order of their numbers, but prywalk itself.
func processes() (list []processName) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if p, ok := readProcess(pid); ok {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b processName) int { return a.pid - b.pid })
	return list
}

// readProcess reads the names of one. False for kernel threads, and for who has ended: they have no command line.
func readProcess(pid int) (p processName, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	comm, err := os.ReadFile(dir + "/comm")
	if err != nil {
		return p, false
	}
	line, err := os.ReadFile(dir + "/cmdline")
	if err != nil || len(line) == 0 {
		return p, false
	}
	args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	p = processName{pid: pid, name: strings.TrimRight(string(comm), "\n"), command: strings.Join(args, " ")}
	p.others = append(p.others, path.Base(args[0]))
	if exe, err := os.Readlink(dir + "/exe"); err == nil { // of others' processes it may be refused
		p.others = append(p.others, path.Base(exe))
	}
	return p, true
}

// choice is how the command line names processes: by number, or by name.
type choice struct {
	pids commandline.PIDs
	name string
	all  bool // every process of the name
	wait bool
}

// add adds the flags.
func (c *choice) add(fl *pflag.FlagSet) {
	fl.VarP(&c.pids, "pid", "p", "process IDs, separated by commas; repeatable")
	fl.StringVarP(&c.name, "name", "n", "", "the process of this name, instead of -p")
	fl.BoolVar(&c.all, "all", false, "with -n: every process of that name")
}

// isProcess reports whether an argument is the number of a process that runs.
func isProcess(arg string) bool {
	pid, err := strconv.Atoi(arg)
	return err == nil && pid > 0 && unix.Kill(pid, 0) != unix.ESRCH
}

// find looks for the process of the name, if there is one.
func (c *choice) find() error {
	switch {
	case c.all && c.name == "":
		return exit.Usage("--all is for -n NAME: it takes every process of that name")
	case c.wait && c.name == "":
		return exit.Usage("--wait is for -n NAME: it waits until there is such a process")
	case c.name == "":
		return nil
	case len(c.pids) > 0:
		return exit.Usage("give either -p or -n, not both")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	c.pids, err = byName(ctx, c.name, c.wait, c.all)
	return err
}

// namePoll is how often --wait looks whether the process is there.
const namePoll = 20 * time.Millisecond

// byName finds the process of a name. Several are listed, for the user to choose, unless all are wanted. With wait it
// waits for the first one that comes.
func byName(ctx context.Context, name string, wait, all bool) (commandline.PIDs, error) {
	for told := false; ; {
		found := named(name)
		switch {
		case all && len(found) > 0:
			var pids commandline.PIDs
			for _, p := range found {
				pids = append(pids, p.pid)
			}
			return pids, nil
		case len(found) == 1 || wait && len(found) > 0:
			return commandline.PIDs{found[0].pid}, nil
		case len(found) > 1:
			return nil, ambiguous(name, found)
		case !wait:
			return nil, fmt.Errorf("no process has the name %q; --wait waits for one, and ps -e lists what there is", name)
		case !told:
			told = true
			console.Say("waiting for a process named %s; Ctrl-C to abort", name)
		}
		select {
		case <-ctx.Done():
			return nil, exit.With(exit.NoSamples, "no process named %q was started", name)
		case <-time.After(namePoll):
		}
	}
}

// named gives the processes of a name: by that of the kernel, of their files, or of their first arguments.
func named(name string) (found []processName) {
	for _, p := range processes() {
		if p.name == name || slices.Contains(p.others, name) {
			found = append(found, p)
		}
	}
	return found
}

const (
	mostChoices   = 20 // processes that are listed
	commandLength = 60 // characters of a command line
)

// ambiguous lists the processes to choose from.
func ambiguous(name string, found []processName) error {
	var b strings.Builder
	printable.Fprintf(&b, "%d processes have the name %q; choose with -p, or take all with --all:", len(found), name)
	for i, p := range found {
		if i == mostChoices {
			fmt.Fprintf(&b, "\n  … %d more", len(found)-i)
			break
		}
		printable.Fprintf(&b, "\n  -p %d  %s", p.pid, tabular.Cut(printable.String(p.command), commandLength))
	}
	return &exit.Error{Code: exit.WrongUsage, Err: listing(b.String())}
}

// listing is an error of several lines, each of them printable.
type listing string

// Error implements error.
func (l listing) Error() string { return string(l) }
