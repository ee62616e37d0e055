// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"prywalk/internal/base/errs"
	"prywalk/internal/base/printable"
	"prywalk/internal/command/console"
	"prywalk/internal/show/dump"
	"prywalk/internal/walk/core"
)

type coreFlags struct{ file, sysroot string }

func (f *coreFlags) addTo(fl *pflag.FlagSet) {
	fl.StringVar(&f.file, "core", "", "read this core file instead of a process")
	fl.StringVar(&f.sysroot, "sysroot", "", "directory with the files of the machine that wrote the core")
}

func (f *dumpFlags) checkCore() error {
	switch {
	case f.core.file == "":
		return errs.Usage("--sysroot is for cores: give --core FILE")
	case len(f.processes.pids) > 0 || f.processes.name != "" || f.processes.all || f.processes.hasRule():
		return errs.Usage("give either --core FILE or what selects processes (-p, -n, --all, %s), not both", ruleFlags)
	}
	if f.core.sysroot == "" {
		return nil
	}
	return checkDirectory("sysroot", f.core.sysroot,
		"give the one that holds usr and lib of the machine that wrote the core")
}

func (f *dumpFlags) dumpCore(w io.Writer) error {
	if err := f.checkCore(); err != nil {
		return err
	}
	return f.withCore(f.core.file, func(c *core.Core) error {
		if f.locks || f.chains {
			return f.dumpCoreLocks(w, c)
		}
		defer func() { f.printNotes(w) }()
		return f.write(w, dump.Core(c, f.options()))
	})
}

func (f *dumpFlags) withCore(name string, use func(*core.Core) error) (err error) {
	st, err := os.Stat(name) // a regular file: it is read at random offsets
	if err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file; give the path of a core file", name)
	}
	file, openErr := os.Open(name)
	if err = cmp.Or(err, openErr); err != nil {
		return withCoreRemedy(err)
	}
	defer file.Close()
	c, err := core.Open(file, st.Size(), f.core.sysroot)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errs.Join(err, c.Close()) }()
	for _, w := range c.Warnings() {
		console.Infof("%s: %s", name, printable.Line(w))
	}
	return use(c)
}

func withCoreRemedy(err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w; read it as its owner or as root", err)
	}
	return fmt.Errorf("%w; give the path of a core file", err)
}
