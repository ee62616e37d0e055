// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"
	"strings"

	"github.com/google/pprof/profile"

	"prywalk/internal/managed"
	rec "prywalk/internal/profile"
)

// findJVMs notes which processes have a Java virtual machine, by the files and the code that their stacks lead through.
func (d *Data) findJVMs() {
	d.jvms = map[int64]bool{}
	is := map[*profile.Mapping]bool{}
	for _, m := range d.Profile.Mapping {
		is[m] = filepath.Base(m.File) == "libjvm.so" || strings.HasPrefix(m.File, "[HotSpot ")
	}
	for _, s := range d.Profile.Sample {
		pid := Number(s, rec.LabelPID)
		for _, l := range s.Location {
			if is[l.Mapping] {
				d.jvms[pid] = true
			}
		}
	}
}

// role gives the role of a sample's thread: what the recording says, else what its name says, in a process with a Java
// virtual machine.
func (d *Data) role(s *profile.Sample) string {
	if role := Label(s, rec.LabelRole); role != "" {
		return role
	}
	if !d.jvms[Number(s, rec.LabelPID)] {
		return managed.RoleApplication
	}
	return managed.RoleOfJVM(Label(s, rec.LabelThread))
}
