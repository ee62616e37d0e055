// SPDX-License-Identifier: Apache-2.0

package waits

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"prywalk/internal/base/languages"
)

// examples returns the result of each example by its stack.
func examples() []func() string {
	var all []func() string
	for _, c := range slices.Concat(javaIdle, pythonIdle, rubyIdle, rustIdle, nativeIdle, libraryIdle) {
		stack := frames(c.stack)
		all = append(all, func() string { return ruleOf(c.wait, c.kind, stack) })
	}
	for _, c := range workersOfPools {
		stack := frames(c.stack)
		all = append(all, func() string { return fmt.Sprint(PoolWorkerOf(stack)) })
	}
	for _, stacks := range []map[string]string{programsFunctions, libraryFunctions} {
		for text := range stacks {
			stack := frames(text)
			all = append(all, func() string { return fmt.Sprint(ApplicationFunction(stack)) })
		}
	}
	return all
}

// changes returns a function that reports whether an example's result has changed since.
func changes() func() bool {
	all := examples()
	var before []string
	for _, result := range all {
		before = append(before, result())
	}
	return func() bool {
		for i, result := range all {
			if result() != before[i] {
				return true
			}
		}
		return false
	}
}

const matchesNothing = `[^\x00-\x{10FFFF}]`

func TestEachPatternOfALibraryHasAnExample(t *testing.T) {
	changed, saved := changes(), libraries
	defer func() { libraries, libs = saved, compile(saved) }()
	for i := range saved {
		of := reflect.ValueOf(saved[i])
		for field := 1; field < of.NumField(); field++ {
			pattern := of.Field(field).String()
			if pattern == "" {
				continue
			}
			libraries = slices.Clone(saved)
			reflect.ValueOf(&libraries[i]).Elem().Field(field).SetString(matchesNothing)
			libs = compile(libraries)
			if !changed() {
				t.Errorf("%s: no example needs %s: %s", saved[i].Name, of.Type().Field(field).Name, pattern)
			}
		}
	}
}

// ofView are rules that packages languages and view apply and test.
var ofView = map[string]bool{"Sleeps": true, "LockWithin": true, "Collects": true, "Compiles": true,
	"Connects": true}

func TestEachRuleOfALanguageHasAnExample(t *testing.T) {
	changed := changes()
	for _, l := range languages.All {
		for _, part := range []any{&l.Waits, &l.System} {
			of := reflect.ValueOf(part).Elem()
			for field := range of.NumField() {
				f, name := of.Field(field), of.Type().Field(field).Name
				if f.IsZero() || ofView[name] {
					continue
				}
				saved := reflect.ValueOf(f.Interface())
				f.SetZero()
				if !changed() {
					t.Errorf("%s: no example needs %s.%s", l.Runtimes[0], of.Type(), name)
				}
				f.Set(saved)
			}
		}
	}
}

func TestEachRuleOfPoolsHasAnExample(t *testing.T) {
	changed, saved := changes(), poolRules
	defer func() { poolRules = saved }()
	for i, rule := range saved {
		poolRules = slices.Delete(slices.Clone(saved), i, i+1)
		if !changed() {
			t.Errorf("no example needs %q", rule.name)
		}
	}
}
