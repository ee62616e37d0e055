// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"

	"prywalk/internal/process"
)

// Options says what to look at.
type Options struct {
	// Root is the directory that the file system is read from; empty for "/".
	// With any other, nothing is tried on the running kernel.
	Root string
	// PID is a target, 0 for none.
	PID int
	// Try asks the kernel for leave to trace the target and gives it back at
	// once, which stops nothing. If not set, only what /proc tells is looked at.
	Try bool
	// MayAsk reports why perf events must not even be asked for. If not set, they may.
	MayAsk func() error

	seize func(pid int) error // for tests
}

// Check looks at the machine, and at a target, with a try, if pid is not 0.
func Check(pid int) []Finding { return Options{PID: pid, Try: true}.Check() }

// checkup is one run.
type checkup struct {
	Options
	live bool
	self *process.Status
	out  []Finding
	// lacks are the capabilities that findings ask for. One command gives them all: each setcap undoes the one before.
	lacks uint64
}

// Check does all checks.
func (o Options) Check() []Finding {
	c := &checkup{Options: o, live: o.Root == "" || o.Root == "/"}
	if c.seize == nil {
		c.seize = seize
	}
	if c.live {
		c.Root = "/"
	}
	var err error
	if c.self, err = process.ReadSelf(c.proc()); err != nil {
		f := finding("proc", Fail, err.Error(), "mount it")
		f.Command = "mount -t proc proc /proc"
		return []Finding{f}
	}
	for _, check := range []func() Finding{
		c.kernel, c.readMemory, c.pidfd, c.syscallFile, c.schedstat, c.hidepid,
		c.user, c.capabilities, c.mapFiles, c.yama, c.seccomp, c.container,
		c.priority, c.quota, c.files, c.perf,
	} {
		if f := check(); f.Name != "" {
			c.out = append(c.out, f)
		}
	}
	if c.PID != 0 {
		c.process()
	}
	c.nameCommands()
	return c.out
}

// proc is where the proc file system is mounted.
func (c *checkup) proc() string { return filepath.Join(c.Root, "proc") }

// read gives a file of the proc file system, empty if it cannot be read.
func (c *checkup) read(name string) string {
	b, err := os.ReadFile(filepath.Join(c.proc(), name))
	if err != nil {
		return ""
	}
	return string(b)
}

// exists reports whether there is a file of that name below the root.
func (c *checkup) exists(name string) bool {
	_, err := os.Stat(filepath.Join(c.Root, name))
	return err == nil
}

// root reports whether prywalk runs as root, perhaps of a container.
func (c *checkup) root() bool { return c.self.UID[1] == 0 }

// command gives a command that needs root's rights, as this user has to type it.
func (c *checkup) command(s string) string {
	if c.root() {
		return s
	}
	return "sudo " + s
}
