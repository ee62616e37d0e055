// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"strings"
	"testing"

	"prywalk/internal/base/errs"
	"prywalk/internal/host/container"
	"prywalk/internal/host/selection"
)

func TestSeveralContainersOfANameAreListed(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	app := container.Container{ID: a, Name: "app", Pod: "shop-0", Namespace: "prod"}
	sidecar := container.Container{ID: b, Name: "log", Pod: "shop-0", Namespace: "prod"}
	test := container.Container{ID: b, Name: "app", Pod: "shop-0", Namespace: "test"}
	for name, c := range map[string]struct {
		rule  selection.Criteria
		found []container.Container
		want  string
	}{
		"one container":             {selection.Criteria{Container: "app"}, []container.Container{app}, ""},
		"two containers of one pod": {selection.Criteria{Pod: "shop-0"}, []container.Container{app, sidecar}, ""},
		"two containers":            {selection.Criteria{Container: "app"}, []container.Container{app, test}, "--pod"},
		"pods of two namespaces": {selection.Criteria{Pod: "shop-0"}, []container.Container{app, test},
			"NAMESPACE/NAME"},
		"two namespaces, one was set": {selection.Criteria{Pod: "prod/shop-0"}, []container.Container{app, sidecar}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := (&processFlags{rule: c.rule}).checkOne(c.found)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var wrong *errs.Error
			if !errors.As(err, &wrong) || wrong.Code != errs.ExitUsage || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "\n  app (bbbbbbbbbbbb) of pod test/shop-0") {
				t.Error(err)
			}
		})
	}
}
