// SPDX-License-Identifier: Apache-2.0

package view

import (
	"path/filepath"

	"github.com/google/pprof/profile"

	"prywalk/internal/languages"
	rec "prywalk/internal/profile"
)

// roleFunctions returns, by pid, the role of a thread's name, if the runtime names its threads.
func roleFunctions(p *profile.Profile) map[int64]func(thread string) string {
	byMapping := map[*profile.Mapping]func(string) string{}
	for _, m := range p.Mapping {
		for _, l := range languages.All {
			if l.Role != nil && (l.ThreadFile.MatchString(filepath.Base(m.File)) || languages.OfMapping(m.File) == l) {
				byMapping[m] = l.Role
			}
		}
	}
	byPID := map[int64]func(string) string{}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			if role := byMapping[l.Mapping]; role != nil {
				byPID[NumLabel(s, rec.LabelPID)] = role
			}
		}
	}
	return byPID
}

func (g *groups) role(s *profile.Sample) string {
	if role := Label(s, rec.LabelRole); role != "" {
		return role
	}
	if role := g.roles[NumLabel(s, rec.LabelPID)]; role != nil {
		return role(Label(s, rec.LabelThread))
	}
	return languages.RoleApplication
}
