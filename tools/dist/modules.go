// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

type module struct {
	path, version string
	licence       string
	holders       []string
	text          string
}

func (r *release) modules() ([]module, error) {
	found := map[string]module{}
	for _, arch := range arches {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/prywalk")
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing what cmd/prywalk links: %w", err)
		}
		for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			if _, known := found[p.Module.Path]; known {
				continue
			}
			m, err := readModule(p.Module.Path, p.Module.Version, p.Module.Dir)
			if err != nil {
				return nil, err
			}
			found[m.path] = m
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	std, err := readModule("Go standard library", "", strings.TrimSpace(string(goroot)))
	if err != nil {
		return nil, err
	}
	all := []module{std}
	for _, m := range found {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

// readModule fails without a known licence: the module may not be linked.
func readModule(path, version, dir string) (module, error) {
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(names) == 0 {
			continue
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			return module{}, err
		}
		licence := recognise(string(text))
		if licence == "" {
			return module{}, fmt.Errorf("%s: the licence in %s is not one of those that are recognised; "+
				"read it and add it to dist/modules.go, or remove the module", path, filepath.Base(names[0]))
		}
		return module{path, version, licence, holders(string(text)), string(text)}, nil
	}
	return module{}, fmt.Errorf("%s has no licence file: it may not be distributed", path)
}

// phrases are sentences that only one licence has.
var phrases = []struct{ spdx, phrase string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"BSD-3-Clause", "endorse or promote products derived from this software without specific prior written permission"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce the above copyright notice"}, // BSD-3-Clause has it, too
	{"ISC", "Permission to use copy modify and/or distribute this software for any purpose"},
	{"MIT", "Permission is hereby granted free of charge to any person obtaining a copy"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
}

// recognise returns an SPDX expression, "" if unknown. A file can hold several licences.
func recognise(text string) string {
	plain := strings.Join(strings.Fields(strings.ReplaceAll(text, ",", " ")), " ")
	var names []string
	for _, p := range phrases {
		if strings.Contains(plain, p.phrase) && (p.spdx != "BSD-2-Clause" || !slices.Contains(names, "BSD-3-Clause")) {
			names = append(names, p.spdx)
		}
	}
	return strings.Join(names, " AND ")
}

var copyright = regexp.MustCompile(`(?im)^\s*(copyright\s+(?:\(c\)|©|\d{4}).*?)\.?(?:\s*all rights reserved\.?)?\s*$`)

func holders(text string) (lines []string) {
	for _, m := range copyright.FindAllStringSubmatch(text, -1) {
		line := strings.Join(strings.Fields(m[1]), " ")
		if !strings.ContainsAny(line, "[{<") && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (r *release) thirdParty() ([]byte, error) {
	modules, err := r.modules()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("# Libraries in the program file\n\n" +
		"`prywalk` is one static executable. These libraries are linked into it, on amd64 or arm64. The packages of\n" +
		"`make dist` hold their licences' full texts. `make third-party` writes this page; a test compares it.\n\n" +
		"| module | version | licence (SPDX) | copyright |\n| --- | --- | --- | --- |\n")
	for _, m := range modules {
		version := m.version
		if version == "" {
			version = "as in go.mod"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.path, version, m.licence,
			strings.ReplaceAll(strings.Join(m.holders, "; "), "|", "\\|"))
	}
	return b.Bytes(), nil
}

func (r *release) writeThirdParty() error {
	page, err := r.thirdParty()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.root, "THIRD_PARTY.md"), page, 0o644)
}
