// SPDX-License-Identifier: Apache-2.0

package main

import "embed"

//go:embed src
var sources embed.FS

type program struct {
	name, what string
	file       string
	newest     bool
	server     bool
	need       []string
}

var programs = []program{
	{"flask", "a Flask site, a thread for each request", "flask_site.py", false, true, []string{"flask"}},
	{"asyncio", "an asyncio server", "asyncio_site.py", false, true, nil},
	{"threads", "tasks in four threads, as Celery's", "task_threads.py", false, false, nil},
	{"black", "`black` over a tree, not compiled", "black_tree.py", false, false, []string{"black"}},
	{"mypy", "`mypy` over a tree, compiled", "mypy_tree.py", false, false, []string{"mypy"}},
	{"pandas", "pandas and numpy", "pandas_work.py", false, false, []string{"numpy", "pandas"}},
	{"pytest", "`pytest` over tests of Jinja", "pytest_suite.py", false, false, []string{"pytest", "jinja2", "trio"}},
	{"flask-3.15", "the Flask site, on 3.15", "flask_site.py", true, true, []string{"flask"}},
	{"threads-3.15", "the tasks, on 3.15", "task_threads.py", true, false, nil},
	{"black-3.15", "`black`, on 3.15", "black_tree.py", true, false, []string{"black"}},
}

func programNames() (names []string) {
	for i := range programs {
		names = append(names, programs[i].name)
	}
	return names
}
