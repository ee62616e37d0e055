package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// class counts the incomplete stacks whose walk ended for one reason at one place.
type class struct {
	Reason  string `json:"reason"`
	Place   string `json:"place"`
	Samples int64  `json:"samples"`
}

// maxClasses is how many are kept of a program, the largest; the others are summed up.
const maxClasses = 8

// classify finds the classes of a recording's incomplete stacks.
func classify(r *recording) []class {
	counts := map[class]int64{}
	makers := makersOf(r.Profile)
	for _, s := range r.Sample {
		if reason := stopReason(s); reason != "" {
			counts[class{Reason: reason, Place: endOf(s, makers)}] += s.Value[samplesColumn]
		}
	}
	var all []class
	for c, n := range counts {
		c.Samples = n
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b class) int {
		return cmp.Or(cmp.Compare(b.Samples, a.Samples), strings.Compare(a.Reason+a.Place, b.Reason+b.Place))
	})
	if len(all) <= maxClasses {
		return all
	}
	rest := class{Reason: "others"}
	for _, c := range all[maxClasses:] {
		rest.Samples += c.Samples
	}
	return append(all[:maxClasses], rest)
}

// endOf describes the outermost frame that was found: its function, or whose generated code it is, and
// whether it is the innermost one or a caller, and of what.
func endOf(s *profile.Sample, makers map[int64]string) string {
	walked := slices.DeleteFunc(slices.Clone(s.Location), synthetic)
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

// codeOf names the function of a place, with the file that it is in.
func codeOf(l *profile.Location, maker string) string {
	name := outermost(l)
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

// generatedCode reports whether a mapping has no file.
func generatedCode(m *profile.Mapping) bool {
	return m.File == "" || strings.HasPrefix(m.File, "[anon")
}

// whose are the libraries and programs that make code, by how their files' names begin.
var whose = []struct{ file, maker string }{
	{"libjvm.so", "HotSpot"}, {"node", "V8"}, {"chrom", "V8"}, {"libvk_swiftshader", "SwiftShader"}, {"libLLVM", "LLVM"}, {"libffi", "libffi"},
}

// makersOf tells by process who made the code that has no file. A process of the browser's that draws has
// V8's name in it, too, but runs no scripts.
func makersOf(p *profile.Profile) map[int64]string {
	found := map[int64]string{}
	rank := func(maker string) int {
		return slices.Index([]string{"", "libffi", "V8", "HotSpot", "LLVM", "SwiftShader"}, maker)
	}
	for _, s := range p.Sample {
		pid := s.NumLabel["pid"]
		if len(pid) == 0 {
			continue
		}
		for _, l := range s.Location {
			if l.Mapping == nil {
				continue
			}
			for _, w := range whose {
				if strings.HasPrefix(filepath.Base(l.Mapping.File), w.file) && rank(w.maker) > rank(found[pid[0]]) {
					found[pid[0]] = w.maker
				}
			}
		}
	}
	return found
}
