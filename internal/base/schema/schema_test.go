// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/constant"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prywalk/internal/base/schema"
	"prywalk/internal/testtargets/typed"
)

var update = flag.Bool("update", false, "write docs/schema anew from the types")

var forms = []struct{ name, pkg, of, title string }{
	{"chains", "prywalk/internal/show/chains", "Report", "prywalk report and dump --chains --json: one line"},
	{"changes", "prywalk/internal/show/dump/changes", "Changes", "prywalk dump --since, --diff, --watch, with --json"},
	{"diff", "prywalk/report", "jsonDifference", "prywalk diff --json: one line"},
	{"doctor", "prywalk/internal/command/doctor", "jsonFindings", "prywalk doctor --json"},
	{"dump", "prywalk/internal/show/dump/stacks", "Process", "prywalk dump --json: a line for each process"},
	{"error", "prywalk/internal/command/console", "jsonError",
		"an error of a command with --json: a line of standard error"},
	{"locks", "prywalk/internal/show/dump/locks", "Locks", "prywalk dump --locks --json: one line"},
	{"report", "prywalk/report", "jsonReport", "prywalk report --json: one line"},
	{"slow", "prywalk/report", "jsonStays", "prywalk report --slow FUNCTION --json: one line"},
	{"stats", "prywalk/internal/account/runstats", "Stats", "prywalk record --stats FILE"},
	{"top", "prywalk/internal/show/top", "jsonTable", "prywalk top --json: a line for each refresh"},
}

// With -update the schemas are written again; raise [schema.Number] where a field has gone or changed its meaning.
func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	paths := map[string]bool{}
	for _, f := range forms {
		paths[f.pkg] = true
	}
	var list []string
	for path := range paths {
		list = append(list, path)
	}
	p, err := typed.Load(list...)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "..", "docs", "schema")
	var names []string
	for _, f := range forms {
		names = append(names, f.name+".json")
		of := p.ByPath[f.pkg].Scope().Lookup(f.of).Type().(*types.Named)
		m := &maker{t: t, from: p, defs: map[string]*node{}, types: map[string]*types.Named{}}
		root := m.object(of)
		root.Schema, root.ID = "https://json-schema.org/draft/2020-12/schema", "urn:prywalk:schema:"+f.name
		root.Title = f.title
		for _, name := range m.order {
			root.Defs = append(root.Defs, property{name, m.defs[name]})
		}
		var got bytes.Buffer
		e := json.NewEncoder(&got)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(root); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, f.name+".json")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("docs/schema/%s.json is not that of %s.%s (%v): run go test ./internal/base/schema -update, and read the "+
				"change", f.name, f.pkg, f.of, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	if err != nil || !slices.Equal(found, names) {
		t.Errorf("docs/schema has %q, want %q (%v)", found, names, err)
	}
}

type node struct {
	Schema      string     `json:"$schema,omitempty"`
	ID          string     `json:"$id,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Ref         string     `json:"$ref,omitempty"`
	Type        string     `json:"type,omitempty"`
	Const       int        `json:"const,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Format      string     `json:"format,omitempty"`
	Pattern     string     `json:"pattern,omitempty"`
	Items       *node      `json:"items,omitempty"`
	MinItems    int64      `json:"minItems,omitempty"`
	MaxItems    int64      `json:"maxItems,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Additional  any        `json:"additionalProperties,omitempty"`
	Defs        properties `json:"$defs,omitempty"`
}

type property struct {
	name string
	of   *node
}

type properties []property

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range p {
		if i > 0 {
			b.WriteByte(',')
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(f.of); err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", f.name, bytes.TrimSpace(text.Bytes()))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// closed: no fields but those that are listed.
const closed = "closed"

func (n *node) MarshalJSON() ([]byte, error) {
	type plain node
	m := plain(*n)
	if m.Additional == closed {
		m.Additional = false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(&m)
	return b.Bytes(), err
}

type maker struct {
	t     *testing.T
	from  *typed.Packages
	defs  map[string]*node
	types map[string]*types.Named
	order []string
}

// written are the types that write themselves in JSON.
var written = map[string]node{
	"prywalk/internal/base/schema.Version":     {Const: schema.Number},
	"prywalk/internal/base/schema.Hex":         {Type: "string", Pattern: "^0x[0-9a-f]+$"},
	"prywalk/internal/account/runstats.Nanos":  {Type: "number"},
	"prywalk/internal/account/runstats.Causes": {Type: "object"},
	"time.Time": {Type: "string", Format: "date-time"},
}

func (m *maker) of(typ types.Type) *node {
	if named, ok := types.Unalias(typ).(*types.Named); ok {
		name := named.Obj().Pkg().Path() + "." + named.Obj().Name()
		if n, ok := written[name]; ok {
			if table, ok := named.Underlying().(*types.Map); ok {
				n.Additional = m.of(table.Elem())
			}
			return &n
		}
		if values := m.values(named); len(values) > 0 {
			return &node{Enum: values}
		}
		if _, ok := named.Underlying().(*types.Struct); ok {
			return m.definition(named)
		}
		methods := types.NewMethodSet(types.NewPointer(named))
		if methods.Lookup(nil, "MarshalJSON") != nil || methods.Lookup(nil, "MarshalText") != nil {
			m.t.Errorf("%s writes itself: say in written how", name)
		}
	}
	switch u := typ.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsInteger != 0:
			return &node{Type: "integer"}
		case u.Info()&types.IsFloat != 0:
			return &node{Type: "number"}
		case u.Info()&types.IsBoolean != 0:
			return &node{Type: "boolean"}
		case u.Info()&types.IsString != 0:
			return &node{Type: "string"}
		}
	case *types.Pointer:
		return m.of(u.Elem())
	case *types.Slice:
		return &node{Type: "array", Items: m.of(u.Elem())}
	case *types.Array:
		return &node{Type: "array", Items: m.of(u.Elem()), MinItems: u.Len(), MaxItems: u.Len()}
	case *types.Map:
		return &node{Type: "object", Additional: m.of(u.Elem())}
	}
	m.t.Errorf("no schema for %s", typ)
	return &node{}
}

// closedSets are the types whose constants are all their values.
var closedSets = []string{"Verdict"}

func (m *maker) values(of *types.Named) (list []string) {
	if !slices.Contains(closedSets, of.Obj().Name()) {
		return nil
	}
	scope := of.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), of) {
			list = append(list, constant.StringVal(c.Val()))
		}
	}
	return list
}

func (m *maker) definition(of *types.Named) *node {
	name := strings.ToLower(strings.TrimPrefix(of.Obj().Name(), "json"))
	for i := range of.TypeArgs().Len() {
		arg := of.TypeArgs().At(i).String()
		name += "-" + strings.ToLower(arg[strings.LastIndex(arg, ".")+1:])
	}
	if m.defs[name] != nil && !types.Identical(m.types[name], of) {
		m.t.Errorf("%s and %s would have one name, %s", m.types[name], of, name)
	}
	if m.defs[name] == nil {
		m.defs[name], m.types[name] = &node{}, of
		m.order = append(m.order, name)
		*m.defs[name] = *m.object(of)
	}
	return &node{Ref: "#/$defs/" + name}
}

func (m *maker) object(of *types.Named) *node {
	n := &node{Type: "object", Additional: closed, Required: []string{}}
	names := map[string]string{}
	m.fields(n, of.Underlying().(*types.Struct), names)
	n.Description = describe(m.from.Comment(of.Obj()), names)
	for i := range n.Properties {
		n.Properties[i].of.Description = describe(n.Properties[i].of.Description, names)
	}
	return n
}

func (m *maker) fields(n *node, of *types.Struct, names map[string]string) {
	for i := range of.NumFields() {
		f := of.Field(i)
		tags := reflect.StructTag(of.Tag(i))
		tag, tagged := tags.Lookup("json")
		name, opts, _ := strings.Cut(tag, ",")
		typ := f.Type()
		if p, ok := typ.(*types.Pointer); ok {
			typ = p.Elem()
		}
		inner, isStruct := typ.Underlying().(*types.Struct)
		switch {
		case name == "-":
			continue
		case f.Embedded() && !tagged && isStruct:
			m.fields(n, inner, names)
			continue
		case !f.Exported():
			continue
		}
		name = cmp.Or(name, f.Name())
		names[f.Name()] = name
		part := *m.of(f.Type())
		part.Description = m.from.Comment(f)
		n.Properties = append(n.Properties, property{name, &part})
		if !strings.Contains(opts, "omit") || tags.Get("schema") == "required" {
			n.Required = append(n.Required, name)
		}
	}
}

var (
	links    = regexp.MustCompile(`\[([A-Z]\w*|\w+\.\w+)\]`)
	private  = regexp.MustCompile(`\bjson([A-Z])`)
	inGoOnly = regexp.MustCompile(`\s*In Go (it|its)\b[^.]*\.`)
)

func describe(comment string, names map[string]string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = private.ReplaceAllString(links.ReplaceAllString(text, "$1"), "$1")
	text = inGoOnly.ReplaceAllString(text, "")
	for field, name := range names {
		text = regexp.MustCompile(`\b`+field+`\b`).ReplaceAllLiteralString(text, name)
	}
	return text
}
