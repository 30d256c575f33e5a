{{- define "freehold.featureGates" -}}
{{- $found := list -}}
{{- range $name, $value := .Values.featureGates -}}
{{- $found = append $found (printf "%s=%t" $name $value) -}}
{{- end -}}
{{- join "," $found -}}
{{- end -}}

{{- define "freehold.variables" -}}
{{- $found := list -}}
{{- range $name, $value := .Values.env -}}
{{- $found = append $found (dict "name" $name "value" $value) -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- define "freehold.egressPorts" -}}
{{- $found := list -}}
{{- range $name, $value := .Values.networkPolicy.egressPorts -}}
{{- $found = append $found (dict "port" (int $value) "protocol" "TCP") -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}
