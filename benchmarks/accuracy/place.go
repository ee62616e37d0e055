// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"
	"github.com/ianlancetaylor/demangle"

	"prywalk/benchmarks/elfnames"
	"prywalk/benchmarks/perfscript"
	"prywalk/benchmarks/recordings"
	"prywalk/internal/testtargets"
)

type places struct {
	tables map[string]*elfnames.Table
	twins  map[string]string
}

func newPlaces(t *testtargets.Target) *places {
	p := &places{tables: map[string]*elfnames.Table{}, twins: map[string]string{}}
	if t.Unstripped != "" {
		p.twins[t.Exe] = t.Unstripped
	}
	return p
}

func (p *places) inFile(path string, offset uint64) string {
	t, known := p.tables[path]
	if !known {
		t, _ = elfnames.Open(path, p.twins[path])
		p.tables[path] = t
	}
	base := filepath.Base(path)
	if t == nil {
		return "[" + base + "]"
	}
	f, ok := t.At(offset)
	switch {
	case !ok:
		return "[" + base + "]"
	case f.Name == "":
		return fmt.Sprintf("%s+%#x", base, f.Start)
	}
	return normalizedName(demangle.Filter(f.Name, demangle.NoParams)) + " (" + base + ")"
}

const (
	vdso      = "[vdso]"
	generated = "[generated code]"
	nowhere   = "[no stack]"
)

func inMemory(module, name string) string {
	switch {
	case strings.Contains(module, "vdso"):
		return vdso
	case name == "" || strings.HasPrefix(name, "["):
		return generated
	}
	return normalizedName(name)
}

func (p *places) ofRecording(s *profile.Sample) string {
	l := s.Location[0]
	switch {
	case recordings.Synthetic(l):
		return nowhere
	case l.Mapping == nil || !strings.HasPrefix(l.Mapping.File, "/") || isGenerated(l.Mapping.File):
		module := ""
		if l.Mapping != nil {
			module = l.Mapping.File
		}
		return inMemory(module, recordings.Outermost(l))
	}
	return p.inFile(l.Mapping.File, l.Address-l.Mapping.Start+l.Mapping.Offset)
}

func (p *places) ofPerf(s *perfscript.Sample) string {
	f := s.User()
	switch {
	case f == nil:
		return nowhere
	case !strings.HasPrefix(f.File, "/") || isGenerated(f.File):
		return inMemory(f.File, f.Name)
	}
	return p.inFile(f.File, f.Addr)
}

var perfMap = regexp.MustCompile(`/perf-\d+\.map$`)

// isGenerated reports generated code, for which perf gives the map file, and anonymous memory, "//anon".
func isGenerated(file string) bool {
	return strings.HasPrefix(file, "//") || perfMap.MatchString(file) || strings.HasPrefix(file, "/memfd:") ||
		strings.HasPrefix(file, "/dev/")
}

var (
	clones  = regexp.MustCompile(`(\.(constprop|isra|part|lto_priv|llvm|cold)(\.\d+)*)+$| \[clone [^\]]*\]`)
	version = regexp.MustCompile(`@@?[A-Z][\w.]*$`)
	jsMark  = regexp.MustCompile(`^(JS:|LazyCompile:|Script:)?[*~^+]*`)
)

func normalizedName(name string) string {
	name = clones.ReplaceAllString(name, "")
	name = version.ReplaceAllString(name, "")
	if strings.HasPrefix(name, "JS:") {
		name = jsMark.ReplaceAllString(name, "JS:")
	}
	return name
}

func sameName(a, b string) bool {
	a, b = undecorated(a), undecorated(b)
	return a == b || a == "" || b == "" || strings.HasPrefix(a, "[") || strings.HasPrefix(b, "[")
}

var aliases = strings.NewReplacer("__GI_", "", "__libc_", "", ".abi0", "")

func undecorated(name string) string {
	name = normalizedName(name)
	if strings.HasPrefix(name, "JS:") {
		return name
	}
	if i := strings.IndexAny(name, "<("); i > 0 {
		name = name[:i]
	}
	return strings.TrimLeft(aliases.Replace(name), "_")
}
