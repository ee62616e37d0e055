// SPDX-License-Identifier: Apache-2.0

package recordings

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Class counts incomplete stacks whose walks ended for one reason at one place.
type Class struct {
	Reason  string `json:"reason"`
	Place   string `json:"place"`
	Samples int64  `json:"samples"`
}

// MaxClasses of a program are kept, the largest; the others are summed.
const MaxClasses = 8

// Classify returns the classes of a recording's incomplete stacks.
func Classify(p *profile.Profile) []Class {
	counts := map[Class]int64{}
	makers := makersOf(p)
	for _, s := range p.Sample {
		if reason := StopReason(s); reason != "" {
			counts[Class{Reason: reason, Place: endOf(s, makers)}] += s.Value[SamplesColumn]
		}
	}
	var all []Class
	for c, n := range counts {
		c.Samples = n
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Class) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), strings.Compare(a.Reason+a.Place, b.Reason+b.Place))
	})
	if len(all) <= MaxClasses {
		return all
	}
	rest := Class{Reason: "others"}
	for _, c := range all[MaxClasses:] {
		rest.Samples += c.Samples
	}
	return append(all[:MaxClasses], rest)
}

func endOf(s *profile.Sample, makers map[int64]string) string {
	walked := slices.DeleteFunc(slices.Clone(s.Location), Synthetic)
	if len(walked) == 0 {
		return "no frame"
	}
	pid := int64(0)
	if p := s.NumLabel["pid"]; len(p) > 0 {
		pid = p[0]
	}
	last := len(walked) - 1
	text := codeOf(walked[last], makers[pid])
	if last == 0 {
		return text + ", innermost"
	}
	return text + ", caller of " + codeOf(walked[last-1], makers[pid])
}

func codeOf(l *profile.Location, maker string) string {
	name := Outermost(l)
	switch {
	case l.Mapping == nil:
		return "no code"
	case generatedCode(l.Mapping):
		return strings.TrimSpace("code of " + maker + " " + name)
	case name == "":
		name = "?"
	}
	return filepath.Base(l.Mapping.File) + ": " + name
}

func generatedCode(m *profile.Mapping) bool {
	return m.File == "" || strings.HasPrefix(m.File, "[anon")
}

// codeMakers are by prefixes of file names. Of several in a process the last one is named.
var codeMakers = []struct{ file, maker string }{
	{"libffi", "libffi"}, {"node", "V8"}, {"chrom", "V8"}, {"php", "PHP"}, {"luajit", "LuaJIT"}, {"libluajit", "LuaJIT"},
	{"qemu-", "QEMU"},
	{"mono", "Mono"}, {"libguile", "Guile"}, {"sbcl", "SBCL"}, {"chezscheme", "Chez"}, {"scheme", "Chez"},
	{"beam", "BEAM"}, {"libjvm.so", "HotSpot"},
	{"libLLVM", "LLVM"}, {"libvk_swiftshader", "SwiftShader"},
}

// The browser's GPU process maps V8 too, but runs no scripts.
func makersOf(p *profile.Profile) map[int64]string {
	found := map[int64]int{}
	for _, s := range p.Sample {
		pid := s.NumLabel["pid"]
		if len(pid) == 0 {
			continue
		}
		for _, l := range s.Location {
			if l.Mapping != nil {
				found[pid[0]] = max(found[pid[0]], placeOf(l.Mapping)+1)
			}
		}
	}
	makers := map[int64]string{}
	for pid, i := range found {
		if i > 0 {
			makers[pid] = codeMakers[i-1].maker
		}
	}
	return makers
}

func placeOf(m *profile.Mapping) int {
	return slices.IndexFunc(codeMakers, func(w struct {
		file,
		maker string
	}) bool {
		return strings.HasPrefix(filepath.Base(m.File), w.file)
	})
}
