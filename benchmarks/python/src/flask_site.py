"""A Flask site: a page with a table that Jinja renders, each request in a thread of its own."""
import common

import logging

import flask

logging.getLogger("werkzeug").setLevel(logging.ERROR)
app = flask.Flask(__name__)
PAGE = """<!doctype html><title>{{ title }}</title><table>
{% for row in rows %}<tr><td>{{ loop.index }}</td><td>{{ row.name|title }}</td><td>{{ row.price|round(2) }}</td></tr>
{% endfor %}</table>"""


def price(n):
    total = 0.0
    for i in range(n % 40 + 40):
        total += (i * n) % 97 / 7
    return total


@app.route("/")
def index():
    rows = [{"name": "thing number %d" % n, "price": price(n)} for n in range(40)]
    return flask.render_template_string(PAGE, title="things", rows=rows)


if __name__ == "__main__":
    from werkzeug.serving import make_server

    server = make_server("127.0.0.1", 0, app, threaded=True)
    common.ready(server.server_port)
    server.serve_forever()

# SPDX-License-Identifier: Apache-2.0
