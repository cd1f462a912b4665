package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// board is a dashboard.
type board struct {
	name, title string
	byNode      bool // it has a variable for the node
	rows        []row
}

type row struct {
	title  string
	panels []panel
}

// panel shows one expression or several.
type panel struct {
	title, unit string
	single      bool // the newest value as a figure; a positive one is red if it is bad
	bad         bool
	queries     []query
}

type query struct{ expr, legend string }

// The width of the grid is 24.
const (
	panelWidth, panelHeight = 8, 7
	statWidth, statHeight   = 4, 4
)

//nolint:staticcheck // files that Grafana provisions have this version
func (b *board) build() (dashboard.Dashboard, error) {
	d := dashboard.NewDashboardBuilder(b.title).Uid("redrain-"+b.name).Tags([]string{"redrain"}).
		Refresh("10s").Time("now-30m", "now").Timezone("browser").
		WithVariable(dashboard.NewDatasourceVariableBuilder("source").Label("Data source").Type("prometheus"))
	if b.byNode {
		d.WithVariable(dashboard.NewQueryVariableBuilder("node").Label("Node").Datasource(source()).
			Query(dashboard.StringOrMap{String: new("label_values(redrain_connections, instance)")}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged))
	}
	id := uint32(0)
	for _, r := range b.rows {
		id++
		d.WithRow(dashboard.NewRowBuilder(r.title).Id(id))
		for _, p := range r.panels {
			id++
			d.WithPanel(p.builder(id))
		}
	}
	return d.Build()
}

// source is the data source that the variable names.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${source}")}
}

func (p *panel) builder(id uint32) cog.Builder[dashboard.Panel] {
	if p.single {
		b := stat.NewPanelBuilder().Id(id).Title(p.title).Unit(p.unit).Datasource(source()).Span(statWidth).
			Height(statHeight)
		if p.bad {
			b.Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).
				Steps([]dashboard.Threshold{{Color: "green"}, {Value: new(0.001), Color: "red"}}))
		}
		for i, q := range p.queries {
			b.WithTarget(q.builder(i))
		}
		return b
	}
	b := timeseries.NewPanelBuilder().Id(id).Title(p.title).Unit(p.unit).Datasource(source()).Span(panelWidth).
		Height(panelHeight).Min(0).Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).
		DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti))
	for i, q := range p.queries {
		b.WithTarget(q.builder(i))
	}
	return b
}

// builder names the queries of a panel A, B and so on.
func (q query) builder(number int) cog.Builder[variants.Dataquery] {
	return prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).RefId("ABCDEFGH"[number : number+1])
}
