"""What Python reads in the targets on stdin, or with --wsgi in requests by HTTP, whose port is the first line."""
import json
import sys
from urllib.parse import parse_qs, parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, make_server


def reading(query):
    return {'rows': query.get('rows'), 'size': query.get('page[size]')}


PARSERS = {
    'parse_qs': parse_qs,
    'parse_qs with blank values': lambda query: parse_qs(query, keep_blank_values=True),
    'parse_qsl, the last one': lambda query: dict(parse_qsl(query, keep_blank_values=True)),
    'parse_qsl, the first one': lambda query: dict(reversed(parse_qsl(query))),
    'semicolons, as before Python 3.10': lambda query: parse_qs(query.replace(';', '&')),
}


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def application(environ, start):
    is_served = environ['PATH_INFO'] == '/reports'
    start('200 OK' if is_served else '404 Not Found', [('Content-Type', 'application/json')])
    read = reading(parse_qs(environ['QUERY_STRING'], keep_blank_values=True))
    return [json.dumps({**read, 'header': environ.get('HTTP_X_ROWS')}).encode()]


if sys.argv[1] == '--wsgi':
    server = make_server('127.0.0.1', 0, application, handler_class=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()
parse = PARSERS[sys.argv[1]]
print(json.dumps([reading(parse(query)) for query in json.load(sys.stdin)]))
