// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"prywalk/internal/code/loadedcode"
	"prywalk/internal/host/process"
)

// Options are what is checked.
type Options struct {
	// Root is the file system's root, "" for "/". With another nothing is tried on the running kernel.
	Root string
	// PID is a target; 0: none.
	PID int
	// MayAsk returns why perf_event_open must not be called; nil: it may.
	MayAsk func() error

	seize func(pid int) error
}

type checker struct {
	Options
	system
	target *process.Status // nil: none, or unreadable
	// refused: a check failed on which later ones of the target depend.
	refused       bool
	opened        *loadedcode.Process
	kernelSamples bool
	findings      []Finding
	// usefulCaps are capabilities without which prywalk works, but worse: only the commands of other findings grant them.
	usefulCaps uint64
}

// Check returns findings in the report's order.
func (o Options) Check() []Finding {
	c := &checker{Options: o, system: system{dir: cmp.Or(o.Root, "/"), live: o.Root == "" || o.Root == "/"}}
	if c.seize == nil {
		c.seize = seize
	}
	var err error
	if c.self, err = process.ReadSelf(c.proc()); err != nil {
		f := finding(Fail, err.Error(), "mount it")
		f.Name, f.Command = "proc", "mount -t proc proc /proc"
		return []Finding{f}
	}
	for i := range checks {
		if k := &checks[i]; k.applies(c) {
			c.add(k.run(c), k.subject)
		}
	}
	if c.opened != nil {
		c.opened.Close()
	}
	c.nameCommands()
	return c.findings
}

// add leaves out an empty finding, and a failure that is reported already. subject names a finding without a name.
func (c *checker) add(f Finding, subject string) {
	isReported := func(other Finding) bool { return other.Level == Fail && other.Detail == f.Detail }
	if f.Detail == "" || f.Level == Fail && slices.ContainsFunc(c.findings, isReported) {
		return
	}
	f.Name = cmp.Or(f.Name, subject)
	c.findings = append(c.findings, f)
}

type system struct {
	dir  string
	live bool // the running kernel may be tried
	self *process.Status
}

func (s *system) proc() string { return filepath.Join(s.dir, "proc") }

func (s *system) read(name string) string {
	b, err := os.ReadFile(filepath.Join(s.proc(), name))
	if err != nil {
		return ""
	}
	return string(b)
}

func (s *system) exists(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

// root may be a container's.
func (s *system) root() bool { return s.self.UID[1] == 0 }
