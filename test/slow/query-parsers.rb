# What Rack reads in the queries on stdin.
require 'json'
require 'rack'

nested = ->(query) { { rows: query['rows'], size: query['page'].is_a?(Hash) ? query['page']['size'] : nil } }
flat = ->(query) { { rows: query['rows'], size: query['page[size]'] } }
env = ->(query) { Rack::MockRequest.env_for('/reports').merge('QUERY_STRING' => query) }
parsers = {
  'parse_nested_query' => ->(query) { nested.(Rack::Utils.parse_nested_query(query)) },
  'parse_query' => ->(query) { flat.(Rack::Utils.parse_query(query)) },
  'Rack::Request' => ->(query) { nested.(Rack::Request.new(env.(query)).GET) },
}
# Invalid UTF-8 as JSON can have it. Rack answers what it cannot read with 400.
scrub = lambda do |value|
  case value
  when String then value.dup.force_encoding('UTF-8').scrub
  when Array then value.map(&scrub)
  when Hash then value.map { |name, one| [scrub.(name.to_s), scrub.(one)] }.to_h
  else value
  end
end
read = ->(query) { parsers.fetch(ARGV[0]).(query) rescue nil }
puts JSON.generate(JSON.parse($stdin.read).map { |query| scrub.(read.(query)) })
