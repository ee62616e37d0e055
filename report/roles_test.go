// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"prywalk/internal/base/languages"
	rec "prywalk/internal/store/profile"
)

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
