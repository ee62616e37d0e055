// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/languages"
	rec "prywalk/internal/profile"
)

func TestReportByRoleIsOfJavaMachinesOnly(t *testing.T) {
	const ms = int64(1e6)
	c := newContention()
	jvm := &profile.Mapping{ID: 1, File: "/usr/lib/jvm/lib/server/libjvm.so"}
	c.p.Mapping = append(c.p.Mapping, jvm)
	for i, name := range []string{"main", "GC Thread#0", "C1 CompilerThre", "VM Thread", "GC Thread#0"} {
		c.add(int64(10+i), name+" works", 0, int64(i+1)*100*ms, "", 0)
		s := c.p.Sample[i]
		s.Label[rec.LabelThread] = []string{name}
		if i == 4 {
			s.NumLabel[rec.LabelPID] = []int64{2}
		}
	}
	c.p.Sample[0].Location[0].Mapping = jvm
	text := render(t, Table, c.p, Options{By: "role"})
	for _, want := range []string{"garbage collector", "compiler", "virtual machine", "application"} {
		if n := strings.Count(text, want); n != 1 {
			t.Errorf("%d of %q in\n%s", n, want, text)
		}
	}
	for _, l := range strings.Split(text, "\n") {
		if strings.Contains(l, languages.RoleGC) && !strings.HasPrefix(l, "13%") ||
			strings.Contains(l, languages.RoleApplication) && !strings.HasPrefix(l, "40%") {
			t.Errorf("%q", l)
		}
	}
	if text := render(t, Table, c.p, Options{By: "role", Focus: "GC Thread"}); !strings.Contains(text, languages.RoleGC) {
		t.Errorf("a filter makes threads of a machine the program's:\n%s", text)
	}
}

func TestReportByRoleBelievesTheRecording(t *testing.T) {
	c := newContention()
	c.add(10, "work", 0, int64(1e9), "", 0)
	s := c.p.Sample[0]
	s.Label[rec.LabelThread], s.Label[rec.LabelRole] = []string{"GC Thread#0"}, []string{languages.RoleApplication}
	s.Location[0].Mapping = &profile.Mapping{ID: 1, File: "/usr/lib/jvm/lib/server/libjvm.so"}
	c.p.Mapping = append(c.p.Mapping, s.Location[0].Mapping)
	text := render(t, Table, c.p, Options{By: "role"})
	if strings.Contains(text, languages.RoleGC) || !strings.Contains(text, languages.RoleApplication) {
		t.Errorf("%s", text)
	}
}
