export const percent = (share: number): string => {
  const number = share * 100
  return `${number > 0 && number < 0.1 ? '< 0.1' : number.toFixed(number >= 10 || number === 0 ? 0 : 1)} %`
}

export const number = (count: number): string => count.toLocaleString('en-US')
