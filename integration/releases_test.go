// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"prywalk/internal/base/schema"
)

func TestRecordingsOfEachReleaseOpen(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/releases/*/*.pb.gz")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d recordings of releases (%v)", len(files), err)
	}
	type reported struct {
		Target    string
		Total     map[string]int64
		Functions []struct {
			Name, Module string
			Self, Total  map[string]int64
		}
	}
	for _, file := range files {
		path := absolute(t, file)
		dir := scratch(t, nil)
		run := func(args ...string) string {
			return command{dir: dir, args: args}.run(t).must(t, 0).stdout
		}
		text, err := os.ReadFile(strings.TrimSuffix(file, ".pb.gz") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want, got reported
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(run("report", "--json", "-n", "10", path)), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) || len(want.Functions) != 10 {
			t.Errorf("%s: got\n%+v\nwant\n%+v", file, got, want)
		}
		for _, form := range [][]string{
			{}, {"--tree"}, {"--folded"}, {"--account"}, {"--by", "wait"}, {"--by", "thread"}, {"--lines"},
			{"--html", "page.html"}, {"--speedscope", "s.json"}, {"--firefox", "f.json"}, {"--pgo", "p.pgo"},
			{"--otlp", "p.otlp"},
		} {
			out := run(append([]string{"report", path}, form...)...)
			if toFile := len(form) == 2 && strings.Contains(form[1], "."); (out == "") != toFile {
				t.Errorf("%s: report with %q printed %q", file, form, out)
			}
		}
		traced, code := command{dir: dir, args: []string{"report", path, "--perfetto", "p.pftrace"}}.run(t), 0
		if strings.Contains(file, "aggregate") {
			code = 1
		}
		if out := traced.must(t, code).stderr; (code == 1) != strings.Contains(out, "prywalk without --aggregate") {
			t.Errorf("%s: report --perfetto printed %q", file, out)
		}
		if out := run("diff", "--all", absolute(t, files[0]), path); !strings.Contains(out, "old: ") {
			t.Errorf("diff with %s: %s", file, out)
		}
	}
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A document of the present schema_version has no field that the schema lacks now, and no field of another type.
func TestJSONOfEachReleaseKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	read := 0
	for form, pattern := range map[string]string{"stats": "stats.json", "dump": "dump.json", "report": "p*.json"} {
		files, err := filepath.Glob("testdata/releases/*/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal([]byte(prywalk(t, "schema", form).must(t, 0).stdout), &doc); err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(form, optional(doc)); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile(form)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			old, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			version, err := old.(map[string]any)["schema_version"].(json.Number).Int64()
			if err != nil {
				t.Fatal(err)
			}
			read++
			if version == schema.Number {
				if err := s.Validate(old); err != nil {
					t.Errorf("%s: %v: raise schema.Number", file, err)
				}
			}
		}
	}
	if read < 4 {
		t.Errorf("%d documents, want at least 4", read)
	}
}

func optional(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		for name := range s {
			if _, list := s[name].([]any); list && name == "required" {
				delete(s, name)
				continue
			}
			s[name] = optional(s[name])
		}
	case []any:
		for i := range s {
			s[i] = optional(s[i])
		}
	}
	return schema
}
