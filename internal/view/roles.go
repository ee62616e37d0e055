// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"

	"github.com/google/pprof/profile"

	"prywalk/internal/languages"
	rec "prywalk/internal/profile"
)

// roleFunctions returns, by pid, the role of a thread's name, for processes whose runtime, known by mappings, names its
// threads.
func roleFunctions(p *profile.Profile) map[int64]func(thread string) string {
	of := map[*profile.Mapping]func(string) string{}
	for _, m := range p.Mapping {
		for _, l := range languages.All {
			if l.Role != nil && (l.ThreadFile.MatchString(filepath.Base(m.File)) || languages.OfMapping(m.File) == l) {
				of[m] = l.Role
			}
		}
	}
	by := map[int64]func(string) string{}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			if role := of[l.Mapping]; role != nil {
				by[NumLabel(s, rec.LabelPID)] = role
			}
		}
	}
	return by
}

func (g *groups) role(s *profile.Sample) string {
	if role := Label(s, rec.LabelRole); role != "" {
		return role
	}
	if of := g.roles[NumLabel(s, rec.LabelPID)]; of != nil {
		return of(Label(s, rec.LabelThread))
	}
	return languages.RoleApplication
}
